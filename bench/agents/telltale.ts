import { join } from 'node:path';
import { frameOf } from '../../telltale/src/lib/calls.ts';
import type { Model, ModelRequest, ModelSink } from '../../telltale/src/models/model.ts';
import type { AgentContestant } from './contestant.ts';
import { answer, PROMPT, type Script, TOOL, type Turn } from './scenario.ts';
import { type Dialect, openAction, writeAgent } from './write-agent.ts';

export interface Ours {
  readonly store: 'memory' | 'sqlite';
  /** Whether the tool may be run again: then its start need not wait for the commit. */
  readonly idempotent: boolean;
  /** `tags` by default. */
  readonly dialect?: Dialect;
}

/** The built package, as a program has it: the first session of a process must not pay for stripping types. */
const BUILT = import.meta.resolve('telltale');

/** Ours, through the public runtime: tool and agent are files, as a user writes them. */
export const createTelltale = ({ store, idempotent, dialect = 'tags' }: Ours): AgentContestant => ({
  name: `telltale, ${store === 'memory' ? 'in memory' : 'durable'}${idempotent ? ', idempotent tool' : ''}${dialect === 'tags' ? '' : `, dialect ${dialect}`}`,
  async open(script, folder) {
    const { createRuntime, loadAgent } = (await import(
      BUILT
    )) as typeof import('../../telltale/src/index.ts');
    let calls = 0;
    const agent = await writeAgent(
      folder,
      idempotent,
      (query) => {
        calls += 1;
        return answer(query);
      },
      loadAgent,
      dialect,
    );
    const runtime = await createRuntime({
      store: store === 'memory' ? 'memory' : `sqlite:${join(folder, 'log.db')}`,
      durability: 'power',
      cwd: folder,
    });
    const model = createFakeModel(script, dialect);
    return {
      async session() {
        let characters = 0;
        const session = runtime.start(agent, { input: PROMPT, model });
        session.subscribe((event) => {
          // Prose between native calls is text, which has no deltas.
          if (event.type === 'thought.delta' || event.type === 'response.delta' || event.type === 'text')
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

/** Says what the script says, in the agent's dialect; all of it is at hand at once. */
const createFakeModel = (script: Script, dialect: Dialect): Model => ({
  id: 'fake',
  async stream({ turn }: ModelRequest, sink: ModelSink) {
    const said = script(turn - 1);
    SPEAK[dialect](said, sink);
    if (said.until !== undefined) {
      await said.until;
      sink.text('</response>');
    }
    return { finish: 'stop', usage: { input: 10, output: 10 } };
  },
});

/** A turn as a model writes it in tags; one that stops half-way leaves its response open. */
export function speakInTags({ said, call, until }: Turn, sink: Pick<ModelSink, 'text'>): void {
  sink.text(call === undefined ? '<response>' : '<thought>');
  for (const piece of said) sink.text(piece);
  if (until !== undefined) return;
  sink.text(call === undefined ? '</response>' : '</thought>\n');
  if (call !== undefined) sink.text(`${openAction(call.id, call.query)}</action>\n`);
}

const SPEAK: Readonly<Record<Dialect, (turn: Turn, sink: ModelSink) => void>> = {
  tags: speakInTags,
  tools({ said, call }, sink) {
    if (call === undefined) {
      sink.text(frameOf({ id: 'native', name: 'respond', input: JSON.stringify({ text: said.join('') }) }));
      return;
    }
    for (const piece of said) sink.text(piece);
    const input = { query: call.query, _run: { id: call.id } };
    sink.text(frameOf({ id: `native_${call.id}`, name: TOOL, input: JSON.stringify(input) }));
  },
  step({ said, call }, sink) {
    const text = said.join('');
    const input =
      call === undefined
        ? { is_complete: true, notes: text, response: text }
        : { thought: text, tool_calls: [{ name: TOOL, input: { query: call.query }, id: call.id }] };
    sink.text(frameOf({ id: 'native', name: 'step', input: JSON.stringify(input) }));
  },
};
