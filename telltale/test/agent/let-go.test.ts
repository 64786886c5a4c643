import { expect, it } from 'vitest';
import type { Model } from '../../src/models/model.ts';
import { runAgent, tool } from './run-agent.ts';

it('once a session is let go nothing starts any more, though the model takes its time to end', async () => {
  let endModel = (): void => undefined;
  const model: Model = {
    id: 'test/slow-to-end',
    stream(_request, sink) {
      sink.text('<action id="warm" mode="sync">{"name":"second"}</action>');
      sink.text('<action id="a">{"name":"first"}</action>');
      sink.text('<action id="b">{"name":"second","depends_on":["a"]}</action>');
      return new Promise((_, reject) => {
        endModel = () => reject(new Error('cancelled'));
      });
    },
  };
  const seen = globalThis as unknown as { letGoFirst: () => void; calls: number };
  const { result, of } = await runAgent({
    manifest: 'import: { tools: [./tools/*.yml] }\n',
    files: {
      ...tool('first', 'await new Promise((resolve) => { globalThis.letGoFirst = resolve; });'),
      ...tool('second', 'globalThis.calls = (globalThis.calls ?? 0) + 1;', 'idempotent: true\n'),
    },
    turns: [],
    model,
    during: async (session) => {
      await new Promise<void>((resolve) =>
        session.subscribe((event) => event.type === 'action.started' && event.id === 'a' && resolve()),
      );
      while (seen.letGoFirst === undefined) await new Promise((resolve) => setImmediate(resolve));
      const interrupted = session.interrupt();
      seen.letGoFirst();
      for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
      endModel();
      await interrupted;
    },
  });
  expect(result.status).toBe('interrupted');
  expect(seen.calls).toBe(1);
  expect(of('action.started').map(({ id }) => id)).toEqual(['warm', 'a']);
});
