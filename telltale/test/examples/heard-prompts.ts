import { afterAll, expect, vi } from 'vitest';
import type { ModelRequest } from '../../src/models/model.ts';
import { refusedBy } from '../wire/provider-bodies.ts';

/** What a scripted model was asked: everything that reached it, as one text, and the last message alone. */
export interface HeardPrompt {
  readonly model: string;
  readonly whole: string;
  readonly last: string;
  /** What comes in one go, the system prompt first, as it was then. */
  readonly parts: readonly string[];
}

/** For each request, what providers would refuse in it; of a model that is asked for ever, of the first ones. */
const refused = new Map<string, Promise<readonly string[]>[]>();
const MOST_CHECKED = 500;

function check(model: string, { system, messages, turn, tools, toolChoice }: ModelRequest): void {
  const checked = refused.get(model) ?? [];
  refused.set(model, checked);
  if (checked.length < MOST_CHECKED)
    checked.push(
      refusedBy({ system, messages, turn, ...(tools && { tools }), ...(toolChoice && { toolChoice }) }),
    );
}

const HEARD = Symbol.for('telltale.heard-prompts');
const store = globalThis as unknown as Record<symbol, HeardPrompt[] | undefined>;
store[HEARD] ??= [];

/** The prompts of this file's examples so far, of agents, sub-agents, verifiers and steps alike. */
export const heardPrompts = (): readonly HeardPrompt[] => store[HEARD] ?? [];

vi.mock('../../src/models/scripted/scripted-model.ts', async (original) => {
  const real = await original<typeof import('../../src/models/scripted/scripted-model.ts')>();
  return {
    ...real,
    createScriptedModel: (...given: Parameters<typeof real.createScriptedModel>) => {
      const model = real.createScriptedModel(...given);
      return {
        ...model,
        stream(request: ModelRequest, ...rest: [Parameters<typeof model.stream>[1]]) {
          const { system, messages, tools = [] } = request;
          const texts = messages.map(({ text }) => text);
          store[HEARD]?.push({
            model: model.id,
            whole: [system, ...texts, JSON.stringify(tools)].join('\n'),
            last: texts.at(-1) ?? '',
            parts: [system, ...messages.map((message) => JSON.stringify(message))],
          });
          check(model.id, request);
          return model.stream(request, ...rest);
        },
      };
    },
  };
});

/** A token of the MCP server, or its name; the key of a task; the id of a run that leads. */
const NEVER = /continue_?token|\btt\d\.[\w-]{8,}|~lead\b|\brun_[0-9a-z]{10,}[:~]|\bcontinue_workflow\b/i;

afterAll(async () => {
  const problems = (await Promise.all([...refused.values()].flat())).flat();
  expect([...new Set(problems)], 'requests that a provider would refuse').toEqual([]);
  const leaks = heardPrompts().flatMap(
    ({ model, whole }) => NEVER.exec(whole)?.[0]?.concat(` in ${model}`) ?? [],
  );
  expect(leaks).toEqual([]);
  expect(heardPrompts().filter(isRewritten)).toEqual([]);
});

/** What a turn adds at the most: what the model said, what its native calls brought, and what is new. */
const MOST_ADDED = 3;

/** Whether it goes on with a conversation, and with none that was heard before, word for word. */
function isRewritten({ model, parts }: HeardPrompt, index: number, all: readonly HeardPrompt[]): boolean {
  if (parts.length <= 2) return false; // the system prompt, and the first message
  return !all
    .slice(0, index)
    .some(
      (before) =>
        before.model === model &&
        before.parts.length >= parts.length - MOST_ADDED &&
        before.parts.length < parts.length &&
        before.parts.every((part, at) => part === parts[at]),
    );
}
