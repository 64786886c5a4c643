import { describe, expect, it } from 'vitest';
import { createPace } from '../../src/store/grouped/commit-queue.ts';

/** A machine on which a commit takes `fixedMs` and `perWriteMs` for each write, and a caller `callerMs`. */
function measured(
  machine: { readonly fixedMs: number; readonly perWriteMs: number; readonly callerMs: number },
  sizes: readonly number[],
) {
  let at = 0;
  const pace = createPace(() => at);
  for (let round = 0; round < 50; round++)
    for (const size of sizes) {
      pace.sent(size);
      at += machine.fixedMs + size * machine.perWriteMs;
      pace.landed();
      pace.telling(size);
      at += size * machine.callerMs;
      pace.answered();
    }
  return pace;
}

describe('whether a group is told in two parts', () => {
  it('pays where callers take longer than what a second commit adds', () => {
    const pace = measured({ fixedMs: 1, perWriteMs: 0.014, callerMs: 0.02 }, [60, 100, 80, 20]);
    expect(pace.pays(100)).toBe(true); // 2 ms of callers; a whole commit takes 2.4, a second one adds 1
    expect(pace.pays(40)).toBe(false);
  });

  it('does not pay on a slow disk', () => {
    const pace = measured({ fixedMs: 8, perWriteMs: 0.014, callerMs: 0.02 }, [60, 100, 80, 20]);
    expect(pace.pays(100)).toBe(false);
  });

  it('takes all of a commit for what a second one adds while all have been of one size', () => {
    const pace = measured({ fixedMs: 1, perWriteMs: 0.014, callerMs: 0.02 }, [100]);
    expect(pace.pays(100)).toBe(false);
    expect(pace.pays(130)).toBe(true);
  });

  it('forgets a pause of the machine', () => {
    let at = 0;
    const pace = createPace(() => at);
    const round = (size: number, pauseMs: number) => {
      pace.sent(size);
      at += 1 + size * 0.014 + pauseMs;
      pace.landed();
      pace.telling(size);
      at += size * 0.02;
      pace.answered();
    };
    for (let n = 0; n < 200; n++) round(50 + (n % 3) * 25, 0);
    for (let n = 0; n < 20; n++) round(50, 50);
    expect(pace.pays(100)).toBe(false);
    for (let n = 0; n < 200; n++) round(50 + (n % 3) * 25, 0);
    expect(pace.pays(100)).toBe(true);
  });

  it('pays though one commit in five is held up by a busy machine', () => {
    let at = 0;
    const pace = createPace(() => at);
    for (let n = 0; n < 500; n++) {
      const size = 50 + (n % 3) * 25;
      pace.sent(size);
      at += 1 + size * 0.014 + (n % 5 === 0 ? 20 : 0);
      pace.landed();
      pace.telling(size);
      at += size * 0.02;
      pace.answered();
    }
    expect(pace.pays(150)).toBe(true); // 3 ms of callers; a second commit adds 1, held up or not
  });

  it('is not measured by a commit that lay there while callers were told', () => {
    let at = 0;
    const pace = createPace(() => at);
    for (let n = 0; n < 500; n++) {
      pace.sent(50);
      at += 0.5;
      if (n > 0) pace.landed();
      pace.sent(50);
      pace.telling(50);
      at += 50 * 0.02;
      pace.landed();
      at += 0.1;
      pace.answered();
    }
    expect(pace.pays(100)).toBe(true); // 2.2 ms of callers; a commit takes 0.5
    expect(pace.pays(30)).toBe(true); // 0.66 ms; with those that lay there a commit seems to take 0.75
  });

  it('is measured by what the one who commits says, wherever its answer lay meanwhile', () => {
    let at = 0;
    const pace = createPace(() => at);
    for (let n = 0; n < 500; n++) {
      pace.sent(50);
      pace.telling(50);
      at += 50 * 0.02;
      pace.answered();
      at += 0.1;
      pace.landed(0.3);
    }
    expect(pace.pays(20)).toBe(true); // 0.4 ms of callers; with what lay there a commit seems to take 1.1
    expect(pace.pays(10)).toBe(false);
  });

  it('is not measured by reads, which are answered behind a commit', () => {
    let at = 0;
    const pace = createPace(() => at);
    for (let n = 0; n < 50; n++) {
      pace.sent(100);
      at += 1;
      pace.landed();
      at += 1_000;
      pace.landed();
      pace.telling(100);
      at += 2;
      pace.answered();
    }
    expect(pace.pays(100)).toBe(true);
  });
});
