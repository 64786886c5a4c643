import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Model, ModelRequest, ModelSink } from '../../telltale/src/models/model.ts';
import { createRuntime } from '../../telltale/src/session/create-runtime.ts';
import { loadAgent } from '../../telltale/src/session/load-agent.ts';
import type { LoadedAgent } from '../../telltale/src/session/runtime-types.ts';
import type { AgentContestant } from './contestant.ts';
import { answer, INSTRUCTIONS, PROMPT, type Script, TOOL, TOOL_DESCRIPTION, type Turn } from './scenario.ts';

export interface Ours {
  readonly store: 'memory' | 'sqlite';
  /** Whether the tool may be run again: then its start need not wait for the commit. */
  readonly idempotent: boolean;
}

/** Ours, through the public runtime: tool and agent are files, as a user writes them. */
export const createTelltale = ({ store, idempotent }: Ours): AgentContestant => ({
  name: `telltale, ${store === 'memory' ? 'in memory' : 'durable'}${idempotent ? ', idempotent tool' : ''}`,
  async open(script, folder) {
    let calls = 0;
    // Tools are modules of a folder; this is how one of them reaches the bench.
    Reflect.set(globalThis, HOOK, (query: string) => {
      calls += 1;
      return answer(query);
    });
    const agent = await writeAgent(folder, idempotent);
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

const HOOK = 'telltaleBenchTool';

async function writeAgent(folder: string, idempotent: boolean): Promise<LoadedAgent> {
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, 'tool.yml'),
    `kind: Tool
name: ${TOOL}
description: ${TOOL_DESCRIPTION}
parameters: { type: object, properties: { query: { type: string } }, required: [query] }
implementation: { module: ./tool.mjs }
idempotent: ${idempotent}
`,
  );
  writeFileSync(
    join(folder, 'tool.mjs'),
    `const hook = globalThis.${HOOK};\nexport const run = ({ query }) => hook(query);\n`,
  );
  writeFileSync(
    join(folder, 'agent.yml'),
    `kind: Agent
name: bench
model: scripted:none.yml
instructions: ${INSTRUCTIONS}
import: { tools: [./tool.yml] }
limits: { turns: 1000000 }
`,
  );
  return loadAgent('agent.yml', { cwd: folder });
}

/** Says what the script says, in tags; all of it is at hand at once. */
export const createFakeModel = (script: Script): Model => ({
  id: 'fake',
  async stream({ turn }: ModelRequest, sink: ModelSink) {
    const said = script(turn - 1);
    speak(said, sink);
    if (said.until !== undefined) {
      await said.until;
      sink.text('</response>');
    }
    return { finish: 'stop', usage: { input: 10, output: 10 } };
  },
});

function speak({ said, call, until }: Turn, sink: ModelSink): void {
  sink.text(call === undefined ? '<response>' : '<thought>');
  for (const piece of said) sink.text(piece);
  if (until !== undefined) return;
  sink.text(call === undefined ? '</response>' : '</thought>\n');
  if (call !== undefined)
    sink.text(
      `<action id="${call.id}">{"name":"${TOOL}","parameters":{"query":"${call.query}"}}</action>\n`,
    );
}
