// When a stream that ended is opened anew: after ever longer waits, and never by all pages at once.

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 8000;
const STABLE_MS = 5000;

export class Tries {
  private failures = 0;
  private began = 0;

  begin(): void {
    this.began = Date.now();
  }

  /** Returns how long to wait, now that it has ended. One that ends as soon as it has begun has failed, too. */
  wait(): number {
    this.failures = Date.now() - this.began > STABLE_MS ? 0 : this.failures + 1;
    return Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(this.failures, 6)) * (0.5 + Math.random() / 2);
  }
}
