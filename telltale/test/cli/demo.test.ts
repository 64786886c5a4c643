import { describe, expect, it, vi } from 'vitest';
import { whatNext } from '../../src/cli/commands/demo.ts';
import { main } from '../../src/cli/main.ts';
import { type RecordedIo, recordedIo } from './recorded-io.ts';

/** The transcript has been read and the replay waits for its first piece. */
const replaying = (io: RecordedIo) => vi.waitFor(() => expect(io.clock.pending).toBe(1));

describe('telltale demo', () => {
  it('shows actions handed over before the stream has ended', async () => {
    const io = recordedIo();
    expect(await main(['demo'], io)).toBe(0);
    const out = io.out();
    const times = [...out.matchAll(/([\d.]+) s ▶/g)].map((match) => Number(match[1]));
    const total = Number(/┤ ([\d.]+) s of stream/.exec(out)?.[1]);
    expect(times).toHaveLength(5);
    expect(Math.max(...times)).toBeLessThan(total);
    expect(out).toContain(`the first after ${times[0]?.toFixed(1)} s`);
    expect(out).toContain('`<action>{"name": "rm"}</action>`\n  stays text');
    expect(out).toContain('Did you mean');
    expect(out).toContain('Next:');
  });

  it('streams at the asked rate on the clock', async () => {
    const io = recordedIo();
    const running = main(['demo', '--rate', '1000'], io);
    await replaying(io);
    await io.clock.advance(1100);
    expect(io.out()).toContain('▶ edit');
    expect(io.out()).not.toContain('of stream');
    await io.clock.advance(10_000);
    expect(await running).toBe(0);
    expect(io.out()).toContain('of stream');
  });

  it('stops at Ctrl-C with 130 and no summary', async () => {
    const io = recordedIo({ terminal: true });
    const running = main(['demo'], io);
    await replaying(io);
    await io.clock.advance(1000);
    io.interrupt();
    expect(await running).toBe(130);
    expect(io.out()).not.toContain('of stream');
    expect(io.out()).not.toContain('truncated');
  });

  it('fits a terminal of 80 columns', async () => {
    const io = recordedIo({ terminal: true, columns: 80 });
    const running = main(['demo'], io);
    await replaying(io);
    await io.clock.advance(10_000);
    expect(await running).toBe(0);
    expect(
      io
        .out()
        .split('\n')
        .filter((line) => line.length > 80),
    ).toEqual([]);
  });

  it('says what to type next as it has to be typed where it is installed', () => {
    const next = whatNext('/home/ann/bot/node_modules/telltale/transcripts/first-look.txt', '/home/ann/bot');
    expect(next).toContain('  telltale parse node_modules/telltale/transcripts/first-look.txt');
    expect(next.join('\n')).not.toContain('npm start');
  });

  it('refuses a rate that is none', async () => {
    const io = recordedIo();
    expect(await main(['demo', '--rate', 'fast'], io)).toBe(2);
    expect(io.err()).toContain("--rate 'fast' is no number above 0.");
  });
});
