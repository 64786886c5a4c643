import { join } from 'node:path';
import type { Model } from '../../telltale/src/index.ts';
import type { AgentContestant } from './contestant.ts';
import { answer, PROMPT, type Script } from './scenario.ts';
import { openAction, writeAgent } from './write-agent.ts';

/** The built package, as a program imports it. */
const BUILT = import.meta.resolve('telltale');

/** Ours, through the public runtime; tool and agent are files, as a user writes them. */
export const createTelltale = (store: 'memory' | 'sqlite'): AgentContestant => ({
  name: `telltale, ${store === 'memory' ? 'in memory' : 'durable'}`,
  async open(script, folder) {
    const { createRuntime, loadAgent } = (await import(
      BUILT
    )) as typeof import('../../telltale/src/index.ts');
    let calls = 0;
    const tool = (query: string) => {
      calls += 1;
      return answer(query);
    };
    const agent = await writeAgent(folder, tool, loadAgent);
    const runtime = await createRuntime({
      store: store === 'memory' ? 'memory' : `sqlite:${join(folder, 'log.db')}`,
      durability: 'power',
      cwd: folder,
    });
    const model = createFakeModel(script);
    return {
      async session() {
        let characters = 0;
        const session = runtime.start(agent, { input: PROMPT, model });
        session.subscribe((event) => {
          if (event.type === 'thought.delta' || event.type === 'response.delta')
            characters += event.text.length;
        });
        const { status, error } = await session.result;
        if (status !== 'completed') throw new Error(`A session ended as ${status}: ${error?.message}`);
        return { characters };
      },
      calls: () => calls,
      close: () => runtime.close(),
    };
  },
});

/** Writes the script as tags, without any delay. A turn that stops halfway leaves its response open until it is released. */
const createFakeModel = (script: Script): Model => ({
  id: 'fake',
  async stream({ turn }, sink) {
    const { said, call, until } = script(turn - 1);
    sink.text(call === undefined ? '<response>' : '<thought>');
    for (const piece of said) sink.text(piece);
    if (until !== undefined) await until;
    sink.text(call === undefined ? '</response>' : '</thought>\n');
    if (call !== undefined) sink.text(`${openAction(call.id, call.query)}</action>\n`);
    return { finish: 'stop', usage: { input: 10, output: 10 } };
  },
});
