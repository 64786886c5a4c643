import type { RuntimeError } from '../kernel/runtime-error.ts';
import { openGate, seal, spoil } from './gates.ts';
import type { Gate } from './graph.ts';
import { apply } from './record.ts';
import type { Works } from './works.ts';

/** No model can write such an id. */
const outsideId = (name: string) => `feed:${name}`;

/** What has to be waited for until `name` has a value outside; undefined where it stands for nothing there. */
export function fromOutside(works: Works, name: string): Gate | undefined {
  const { graph, deps } = works;
  if (deps.fetch === undefined) return undefined;
  const id = outsideId(name);
  const known = graph.gates?.get(id);
  if (known !== undefined) return known;
  const gate = openGate(graph, id, 'outside');
  const arrived = (failure?: RuntimeError) => {
    if (works.life !== 'lost') {
      gate.error = failure?.toJSON();
      // Nothing to be had: what depends on it does not start, as with an action that failed.
      const changes = deps.lookup(name) === undefined ? spoil(graph, gate, id) : [];
      apply(works, seal(graph, gate, changes), undefined);
      works.goOn();
    }
    // The next one that names it asks anew.
    graph.gates?.delete(id);
  };
  if (deps.fetch(name, arrived)) return gate;
  graph.gates?.delete(id);
  return undefined;
}

export function awaitsOutside({ graph }: Works): boolean {
  if (graph.gates === undefined) return false;
  for (const gate of graph.gates.values()) if (gate.of === 'outside') return true;
  return false;
}
