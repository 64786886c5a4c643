import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseDocument } from 'yaml';
import { createRuntime } from '../../../src/agent/create-runtime.ts';
import { loadAgent } from '../../../src/agent/load-agent.ts';
import type { SessionResult } from '../../../src/agent/runtime-types.ts';
import type { Json, JsonObject } from '../../../src/lib/json.ts';
import type { SessionEvent } from '../../../src/log/event.ts';
import type { RunEvent } from '../../../src/log/run-event.ts';
import type { Model } from '../../../src/models/model.ts';

/** How an agent completes a step: what it notes beside what any notes have, and what it sets. */
export interface Work {
  readonly notes?: string;
  readonly updates?: JsonObject;
}

export interface Led {
  readonly result: SessionResult;
  readonly events: readonly SessionEvent[];
  /** The log of the workflow's run. */
  readonly run: readonly RunEvent[];
  /** The headings of the tasks that were given, in order. */
  readonly given: readonly string[];
  /** What the model was asked, turn by turn. */
  readonly prompts: readonly string[];
  /** What people were asked, in order. */
  readonly asked: readonly string[];
}

const MAX_TURNS = 200;

/** Runs an imported workflow in the lead of its agent, on a model that does as `work` says of each task's heading. */
export async function runImported(
  folder: string,
  workflow: string,
  work: (heading: string, nth: number) => Work = () => ({}),
  says: (review: string) => boolean = () => true,
): Promise<Led> {
  const given: string[] = [];
  const prompts: string[] = [];
  const asked: string[] = [];
  const model: Model = {
    id: 'scripted:obedient',
    async stream({ messages }, sink) {
      const prompt = messages.at(-1)?.text ?? '';
      if (prompts.push(prompt) > MAX_TURNS) throw new Error('The workflow does not end.');
      sink.text(prompt.includes('<record>') ? VERDICT : completion(prompt));
      return { finish: 'stop', usage: { input: 1, output: 1 } };
    },
  };
  let heading = '';
  const tries = new Map<string, number>();
  const completion = (prompt: string): string => {
    const found = /The step in hand:\n# (.*)/.exec(prompt)?.[1];
    if (found !== undefined) given.push(found);
    heading = found ?? heading;
    const nth = (tries.get(heading) ?? 0) + 1;
    tries.set(heading, nth);
    const { notes = '', updates = {} } = work(heading, nth);
    const parameters = {
      notes: `I worked on ${heading} number ${prompts.length} and everything about it turned out well. ${notes}`,
      context_updates: { ...required(prompt), ...updates },
    };
    return `<action type="internal">${JSON.stringify({ name: 'complete_step', parameters })}</action>`;
  };
  const runtime = await createRuntime({ store: 'memory', cwd: folder });
  try {
    const agent = await loadAgent(`${workflow}-agent.yml`, { cwd: folder });
    const session = runtime.start(agent, { input: 'Get it done.', model, onWaiting: 'hold' });
    let result: SessionResult | undefined;
    const ended = session.result.then((end) => {
      result = end as SessionResult;
    });
    while (result === undefined) {
      for (const { review, what } of await runtime.reviews()) {
        asked.push(what);
        await runtime.answer(review, { approved: says(what), by: 'kim' });
      }
      await Promise.race([ended, new Promise((go) => setTimeout(go, 20))]);
    }
    const run = await runtime.workflows.events(`${session.id}~lead`);
    return { result, events: await runtime.events(session.id), run, given, prompts, asked };
  } finally {
    await runtime.close();
  }
}

const VERDICT =
  '{"assessment": "pass", "confidence": "high", "reasoning": "It was done as asked, and the notes say so."}';

/** What a prompt says that context_updates must have, made up from the schemas. */
function required(prompt: string): JsonObject {
  const text =
    /"context_updates" must have: (.*?)\.(?: "context_updates" may have|$)/ms.exec(prompt)?.[1] ?? '';
  const keys = [...text.matchAll(/"(\w+)" \((\{.*?\})\)(?:, |$)/gs)];
  return Object.fromEntries(keys.map(([, key, schema]) => [key ?? '', madeUp(JSON.parse(schema ?? '{}'))]));
}

function madeUp(schema: JsonObject): Json {
  if (Array.isArray(schema.enum)) return schema.enum.at(-1) as Json;
  if (schema.type === 'array') return [];
  if (schema.type === 'string') return 'a text of some length, for whoever counts';
  if (schema.type !== 'object') return true;
  const properties = (schema.properties ?? {}) as Readonly<Record<string, JsonObject>>;
  const keys = (schema.required ?? []) as readonly string[];
  return Object.fromEntries(keys.map((key) => [key, madeUp(properties[key] ?? {})]));
}

/** An imported manifest as it stands in its file. */
export const manifestIn = (folder: string, name: string): JsonObject =>
  parseDocument(readFileSync(join(folder, `${name}.yml`), 'utf8')).toJS() as JsonObject;
