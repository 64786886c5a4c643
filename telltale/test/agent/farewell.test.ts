import { expect, it } from 'vitest';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import { runAgent, tool } from './run-agent.ts';

const endless = tool(
  'endless',
  'return new Promise((_, no) => context.signal.addEventListener("abort", () => no(new Error("stopped"))));',
);

it('a fire_and_forget action has five seconds at the end of its session, and is cancelled then', async () => {
  const clock = createSimulatedClock();
  const timers: number[] = [];
  let early: string | undefined;
  const { result, of } = await runAgent({
    manifest: 'import: { tools: [./tools/*.yml] }\n',
    files: endless,
    turns: ['<action id="f" mode="fire_and_forget">{"name":"endless"}</action><response>Done.</response>'],
    clock: {
      ...clock,
      after(ms, then) {
        timers.push(ms);
        return clock.after(ms, then);
      },
    },
    async during(session, runtime) {
      // The first is for the model, whose stream is cut at the final response.
      await expect.poll(() => timers.filter((ms) => ms === 5_000)).toHaveLength(2);
      await clock.advance(4_999);
      early = (await runtime.state(session.id)).status;
      await clock.advance(1);
    },
  });
  expect(early).toBe('running');
  expect(result).toMatchObject({ status: 'completed', result: 'Done.' });
  expect(of('action.cancelled')).toMatchObject([{ id: 'f' }]);
});
