import type { SessionLog } from '../../../src/agent/session-log.ts';
import type { EventBody } from '../../../src/log/event.ts';
import type { TaskState } from '../../../src/log/state.ts';
import { begun, createFolding, declared, done, failed, STARTED, TURN } from '../../log/fold-bodies.ts';

export const NOTES = 'I looked at all of the files, and changed the two that were wrong.';

/** The log of a session that a run leads, without a session: what is appended is folded. */
export function createLedLog(given: object = {}) {
  const folding = createFolding();
  const { state } = folding;
  const appended: EventBody[] = [];
  const log = {
    state,
    append(body: EventBody) {
      appended.push(body);
      folding.fold(body);
      return { stream: state.id, seq: state.seq, depth: 1 };
    },
    flushed: () => Promise.resolve(),
    seal: () => void appended.push({ type: 'custom', name: 'sealed', data: null }),
  } as unknown as SessionLog;
  folding.fold(STARTED, { type: 'task.given', task: 'old', prompt: 'Begin.' }, TURN);
  folding.fold(...acted('before'), ...acted('lost', 'shell', false));
  folding.fold({ type: 'task.given', task: 't', prompt: 'Mend it.', ...given }, TURN);
  return { state, log, appended, fold: folding.fold, task: state.task as TaskState };
}

/** An action from its declaration to its end. */
export const acted = (id: string, name = 'shell', isDone = true): readonly EventBody[] => [
  declared(id, { name }),
  begun(id, { of: id }),
  isDone ? done(id) : failed(id),
];
