import { readRunEvents } from '../../engine/read-run.ts';
import type { Json } from '../../kernel/json.ts';
import type { Runtime } from '../../session/runtime-types.ts';

const MAX_RUNS = 100;

/** Which workflow of a session changed a file, by its path: what the tool "filesystem" said to their steps. */
export async function changedByWorkflows(
  { store }: Pick<Runtime, 'store'>,
  session: string,
): Promise<ReadonlyMap<string, string>> {
  const changed = new Map<string, string>();
  for (const { stream, name, parent } of await store.list({ kind: 'run', limit: MAX_RUNS })) {
    if (parent !== session) continue;
    for (const event of await readRunEvents(store, stream)) {
      const path = event.type === 'step.completed' ? pathIn(event.output) : undefined;
      if (path !== undefined) changed.set(path, name);
    }
  }
  return changed;
}

function pathIn(output: Json): string | undefined {
  if (typeof output !== 'object' || output === null || Array.isArray(output)) return undefined;
  const { path } = output as { readonly path?: Json };
  return typeof path === 'string' ? path : undefined;
}
