/* fopen(3): the modes of stdio streams, their positions, and freopen. */
#include "../observe.h"
#include <fcntl.h>

static void content(const char *when)
{
	char text[64] = "";
	int fd = open("file", O_RDONLY);

	MUST(fd >= 0 && read(fd, text, sizeof text - 1) >= 0);
	printf("%s: %s\n", when, text);
	close(fd);
}

int main(void)
{
	char text[32] = "";
	FILE *file = fopen("file", "wx");

	MUST(file);
	SAY(fopen("file", "wx") == NULL);
	SAY(fputs("0123456789", file) >= 0);
	content("buffered");
	SAY(fflush(file));
	content("flushed");
	SAY(fclose(file));
	MUST((file = fopen("file", "a+")));
	MUST(fgets(text, 4, file));
	puts(text);
	MUST(!fseek(file, 1, SEEK_SET) && fputs("end", file) >= 0 && !fflush(file));
	content("a+");
	SAY(ftell(file));
	rewind(file);
	SAY(fgetc(file));
	MUST((file = freopen("file", "r+", file)));
	SAY(fseek(file, -3, SEEK_END));
	SAY(fwrite("END", 1, 3, file));
	SAY(fgetc(file));
	SAY(feof(file) != 0);
	setvbuf(file, NULL, _IONBF, 0);
	MUST(!fseek(file, 0, SEEK_SET) && fputc('X', file) == 'X');
	content("unbuffered");
	SAY(ungetc('q', file));
	SAY(fgetc(file));
	SAY(fclose(file));
	MUST((file = fopen("file", "re")));
	SAY(fcntl(fileno(file), F_GETFD));
	SAY(fputc('x', file));
	SAY(ferror(file) != 0);
	return 0;
}
