-- Parameters whose types have no bounds: each brings its own.
with Ada.Text_IO; use Ada.Text_IO;
procedure Bounds is
   type Vec is array (Positive range <>) of Long_Float;
   type Grid is array (Integer range <>, Integer range <>) of Integer;
   function Getppid return Integer with Import, Convention => C, External_Name => "getppid";
   procedure Step (U : in out Vec; G : in out Grid; N : Integer) is
      D : Integer;
   begin
      U (U'First + 2) := Long_Float (N);
      if N = 20 then
         U (U'First + 4) := -1.0;
      end if;
      G (1, 3) := -N;
      D := Getppid;
      Put_Line (Integer'Image (D + G (1, 3)));
   end Step;
   V : Vec (5 .. 14) := (others => 2.0);
   H : Grid (0 .. 2, 1 .. 4) := (others => (others => 7));
begin
   for N in 1 .. 40 loop
      Step (V, H, N);
   end loop;
end Bounds;
