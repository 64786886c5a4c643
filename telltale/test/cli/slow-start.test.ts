import { expect, it } from 'vitest';
import type { WorkflowRun } from '../../src/agent/runs/run-types.ts';
import type { Session, SessionResult } from '../../src/agent/runtime-types.ts';
import { followSession } from '../../src/cli/run/follow-session.ts';
import { createTerminalView } from '../../src/cli/run/terminal-view.ts';
import { createWorkflowView, followWorkflow } from '../../src/cli/workflow/work-run.ts';
import { recordedIo } from './recorded-io.ts';

/** Nothing happens in it: its servers are being started, say. */
function nothingYet() {
  let resolve: (result: SessionResult) => void = () => undefined;
  const promise = new Promise<SessionResult>((settle) => {
    resolve = settle;
  });
  const events = {
    [Symbol.asyncIterator]: () => ({ next: () => promise.then(() => ({ done: true, value: undefined })) }),
  };
  const usage = { input: 0, output: 0 };
  const end = () => resolve({ session: 's', status: 'completed', turns: 0, usage, cost_usd: 0 });
  return { face: { id: 's', events, result: promise, interrupt: async () => {} }, end };
}

it('a session whose first event takes its time is said to be starting, after a second', async () => {
  const io = recordedIo({ terminal: true });
  const { face, end } = nothingYet();
  const view = createTerminalView(io);
  const over = followSession(face as unknown as Session, io, { view, seen: 0 });
  await io.clock.advance(900);
  expect(io.out()).toBe('');
  await io.clock.advance(200);
  expect(io.out()).toContain('starting');
  end();
  await over;
});

it('a workflow run whose first event takes its time is said to be at work, after a second', async () => {
  const io = recordedIo({ terminal: true });
  const { face, end } = nothingYet();
  const view = createWorkflowView('live', io);
  const over = followWorkflow(face as unknown as WorkflowRun, io, { view, seen: 0 });
  await io.clock.advance(900);
  expect(io.out()).toBe('');
  await io.clock.advance(200);
  expect(io.out()).toContain('at work');
  end();
  await over;
});
