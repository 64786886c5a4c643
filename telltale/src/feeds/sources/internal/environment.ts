import type { JsonObject } from '../../../kernel/json.ts';
import { suggest } from '../../../kernel/nearest.ts';
import { RuntimeError } from '../../../kernel/runtime-error.ts';
import { clip } from '../../../manifest/schema/show-value.ts';

/** Environment variables that the agent may see: those that are named, or all. One that is not set is null. */
export function environmentOf(
  { names }: JsonObject,
  permitted: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): JsonObject {
  const wanted = Array.isArray(names) ? names.map(String) : permitted;
  const hidden = wanted.find((name) => !permitted.includes(name));
  if (hidden !== undefined) throw notInView(hidden, permitted);
  return Object.fromEntries(wanted.map((name) => [name, env[name] ?? null]));
}

const notInView = (name: string, permitted: readonly string[]) =>
  new RuntimeError(
    'not_permitted',
    `The environment variable "${clip(name)}" is not in view of this agent.`,
    {
      hint: `${suggest(name, permitted, 'In view')} The agent's manifest says so in "permissions: { environment }".`,
    },
  );
