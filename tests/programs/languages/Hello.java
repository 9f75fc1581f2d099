/** Some work for the compiler and the collector, and a thread. */
public class Hello {
	public static void main(String[] args) throws InterruptedException {
		StringBuilder text = new StringBuilder();
		Thread worker = new Thread(() -> {
			for (int i = 0; i < 10000; i++)
				text.append(Integer.toString(i % 10));
		});
		worker.start();
		worker.join();
		System.out.println("Hello " + text.length());
	}
}
