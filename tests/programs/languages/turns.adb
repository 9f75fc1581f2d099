--  `--=N EXPRESSION` marks the statement that first makes it false, before the Nth event; `--0N` is
--  of a variable that optimisation may leave out.
with Interfaces.C;
procedure Turns is
   function Getppid return Interfaces.C.int;
   pragma Import (C, Getppid, "getppid");
   type Row is array (2 .. 4) of Long_Float;
   type Cell_Type is record
      W    : Row := (others => 1.0);
      Fine : Boolean := True;
   end record;
   Level : Long_Integer := 0;
   pragma Volatile (Level);
   Cell : Cell_Type;
   pragma Volatile (Cell);
   Zero : Long_Float := 0.0;
   pragma Volatile (Zero);
   procedure Work (Steps : Integer);
   pragma No_Inline (Work);
   procedure Work (Steps : Integer) is
      S   : Long_Float := 1.0;
      Ok  : Boolean := True;
      Who : Interfaces.C.int;
   begin
      for I in 1 .. Steps loop
         S := S + 0.5;
         if I = 30 then
            S := Zero / Zero; --030 s = s
         end if;
         Ok := S = S; --030 ok
         if I = 25 then
            Cell.W (3) := -1.0; --=25 cell.w(3) > 0.0
         end if;
         if I = 26 then
            Cell.Fine := False; --=26 cell.fine
         end if;
         Level := Long_Integer (I); --=40 level < 40
         Who := Getppid;
      end loop;
      if Ok then
         Level := Long_Integer (Who);
      end if;
   end Work;
begin
   Work (60);
end Turns;
