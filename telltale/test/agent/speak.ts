import { frameOf } from '../../src/lib/calls.ts';
import type { Json, JsonObject } from '../../src/lib/json.ts';
import type { Dialect } from '../../src/parser/dialect-parser.ts';

/** What a model does in a turn, whatever the dialect. */
export type Deed =
  | { readonly think: string }
  | {
      readonly call: string;
      readonly type?: 'internal' | 'llm' | 'relic' | 'agent';
      readonly input?: JsonObject;
      /** `id`, `mode`, `depends_on` and the like. */
      readonly run?: JsonObject;
    }
  | { readonly metadata: JsonObject }
  | { readonly respond: string; readonly final?: boolean }
  /** Ends the step in hand, with these notes. */
  | {
      readonly complete: string;
      readonly updates?: JsonObject;
      readonly evidence?: readonly string[];
    };

/** The turn as a model of this dialect writes it. */
export function speak(dialect: Dialect, deeds: readonly Deed[]): string {
  switch (dialect) {
    case 'tags':
      return deeds.map(asTag).join('\n');
    case 'tools':
      return deeds.map(asCall).join('');
    case 'step':
      return step(asStep(deeds));
  }
}

let calls = 0;
export const call = (name: string, input: Json | string = {}): string =>
  frameOf({
    id: `call_${++calls}`,
    name,
    input: typeof input === 'string' ? input : JSON.stringify(input),
  });

export const step = (input: JsonObject | string): string => call('step', input);

function asTag(deed: Deed): string {
  if ('think' in deed) return `<thought>${deed.think}</thought>`;
  if ('metadata' in deed) return `<metadata>${JSON.stringify(deed.metadata)}</metadata>`;
  if ('respond' in deed) return `<response final="${deed.final ?? true}">${deed.respond}</response>`;
  if ('complete' in deed) return asTag({ call: 'complete_step', type: 'internal', input: claimOf(deed) });
  const { mode, id, ...rest } = deed.run ?? {};
  const attributes = Object.entries({ type: deed.type, mode, id })
    .flatMap(([key, value]) => (value === undefined ? [] : [` ${key}="${value}"`]))
    .join('');
  return `<action${attributes}>${JSON.stringify({ name: deed.call, parameters: deed.input ?? {}, ...rest })}</action>`;
}

const claimOf = ({ complete, updates, evidence }: Extract<Deed, { complete: string }>): JsonObject => ({
  notes: complete,
  ...(updates === undefined ? {} : { context_updates: updates }),
  ...(evidence === undefined ? {} : { evidence: [...evidence] }),
});

const native = ({ call: name, type }: Extract<Deed, { call: string }>) =>
  type === undefined || type === 'internal' ? name : `${type}_${name}`;

function asCall(deed: Deed): string {
  if ('think' in deed) return `${deed.think}\n`;
  if ('metadata' in deed) return call('set_metadata', deed.metadata);
  if ('respond' in deed)
    return call('respond', {
      text: deed.respond,
      ...(deed.final === undefined ? {} : { final: deed.final }),
    });
  if ('complete' in deed) return call('complete_step', claimOf(deed));
  return call(native(deed), { ...deed.input, ...(deed.run === undefined ? {} : { _run: deed.run }) });
}

function asStep(deeds: readonly Deed[]): JsonObject {
  const fields: [string, Json][] = [];
  const items: JsonObject[] = [];
  for (const deed of deeds) {
    if ('think' in deed) fields.push(['thought', deed.think]);
    else if ('metadata' in deed) fields.push(['metadata', deed.metadata]);
    else if ('respond' in deed) {
      fields.push(['response', deed.respond]);
      if (deed.final !== false) fields.push(['is_complete', true], ['notes', 'All of it.']);
    } else if ('complete' in deed) fields.push(...Object.entries(claimOf(deed)), ['is_complete', true]);
    else {
      if (items.length === 0) fields.push(['tool_calls', items]);
      items.push({ name: native(deed), input: deed.input ?? {}, ...deed.run });
    }
  }
  return Object.fromEntries(fields);
}
