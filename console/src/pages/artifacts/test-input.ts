import type { TestArtifact } from '../../../../telltale/src/client/api.ts';
import { isJsonObject, type Json } from '../../../../telltale/src/lib/json.ts';

/** The default context of a test: every key that a run's context has. */
export const DEFAULT_CONTEXT = {
  agent_id: 'test',
  current_state: null,
  step_name: null,
  balance: null,
  success_rate: 1,
  recent_actions: [],
  last_result: null,
  metadata: {},
  variables: {},
} as const;

export interface TypedTest {
  readonly method: string;
  readonly args: string;
  readonly context: string;
  readonly seed: string;
}

export type ReadTest =
  | { readonly ok: true; readonly test: TestArtifact }
  /** What is wrong, by field. */
  | { readonly ok: false; readonly problems: { readonly args?: string; readonly context?: string } };

/** Parses the input of a test. A single argument that is not a list counts as a list of one. */
export function readTest({ method, args, context, seed }: TypedTest): ReadTest {
  const list = parse(args.trim() === '' ? '[]' : args);
  const shown = parse(context.trim() === '' ? '{}' : context);
  const problems = {
    ...(list.ok ? {} : { args: list.problem }),
    ...(shown.ok
      ? isJsonObject(shown.value)
        ? {}
        : { context: 'Enter a JSON object: { … }.' }
      : { context: shown.problem }),
  };
  if (!list.ok || !shown.ok || !isJsonObject(shown.value)) return { ok: false, problems };
  return {
    ok: true,
    test: {
      method,
      context: shown.value,
      args: Array.isArray(list.value) ? list.value : [list.value],
      ...(seed.trim() === '' ? {} : { seed: seed.trim() }),
    },
  };
}

type Parsed = { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly problem: string };

function parse(text: string): Parsed {
  try {
    return { ok: true, value: JSON.parse(text) as Json };
  } catch (thrown) {
    return {
      ok: false,
      problem: `This is not JSON: ${thrown instanceof Error ? thrown.message : String(thrown)}.`,
    };
  }
}
