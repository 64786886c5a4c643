import type { SessionEvent } from '../../src/log/event.ts';
import type { RunEvent } from '../../src/log/run-event.ts';

/** Events of streams that are made up, each a millisecond after the other. */
export function madeUp() {
  let at = 1_000;
  const seqs = new Map<string, number>();
  const place = (stream: string) => {
    const seq = (seqs.get(stream) ?? 0) + 1;
    seqs.set(stream, seq);
    return { seq, at: at++, cause: { stream, seq: 0, depth: 0 } };
  };
  const manifest = { path: '', hash: '', agent: 'a' };
  return {
    session: (session: string, body: object) =>
      ({
        agent: 'a',
        input: '',
        manifest,
        model: 'm/n',
        turn: 1,
        session,
        ...place(session),
        ...body,
      }) as unknown as SessionEvent,
    run: (run: string, body: object) =>
      ({
        workflow: 'w',
        manifest,
        input: {},
        vars: {},
        origin: { chain: [], agents: [] },
        run,
        ...place(run),
        ...body,
      }) as unknown as RunEvent,
  };
}
