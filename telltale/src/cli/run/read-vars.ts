import type { Json, JsonObject } from '../../kernel/json.ts';
import { usage } from '../usage.ts';

/** The variables of `--var name=value`, each given once. A value that is JSON is taken as such, any other as text. */
export function readVars(given: readonly string[]): JsonObject {
  const vars = new Map<string, Json>();
  for (const each of given) {
    const at = each.indexOf('=');
    const name = each.slice(0, Math.max(0, at));
    if (!/^[A-Za-z_][\w-]*$/.test(name))
      throw usage(`--var '${each}' is not name=value.`, 'Write --var count=3, or --var who=Ann.');
    if (vars.has(name)) throw usage(`--var '${each}' sets ${name} a second time.`, 'Give each name once.');
    vars.set(name, readValue(each.slice(at + 1)));
  }
  return Object.fromEntries(vars);
}

function readValue(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}
