import type { GraphStore } from '../graph.ts';
import type { Store } from '../store.ts';

export interface CopiedGraphs {
  readonly graphs: number;
  readonly files: number;
  readonly facts: number;
}

/** Some ten thousand symbols and calls at the most: a commit of them holds up nobody. */
const FILES_AT_ONCE = 20;
const FACTS_AT_ONCE = 200;

/** Copies knowledge graphs. What the other has learned itself stays; a file that both know is the source's. */
export async function copyGraphs(from: Store, to: Store, signal?: AbortSignal): Promise<CopiedGraphs> {
  const sum = { graphs: 0, files: 0, facts: 0 };
  if (!(await from.upkeep.describe()).graphs) return sum;
  const [ours, theirs] = [await from.graphs(), await to.graphs()];
  for (const graph of await ours.graphs()) {
    sum.files += await copyFiles(ours, theirs, graph, signal);
    for await (const page of numbered((after) => ours.learned(graph, after, FACTS_AT_ONCE), signal)) {
      await theirs.learn(
        graph,
        page.map(({ n: _, ...fact }) => fact),
      );
      sum.facts += page.length;
    }
    for await (const page of numbered((after) => ours.notes(graph, after, FACTS_AT_ONCE), signal))
      for (const { n: _, ...note } of page) await theirs.noteSession(graph, note);
    const { commit, walkedAtMs } = await ours.stats(graph);
    await theirs.write(graph, {
      ...(commit === undefined ? {} : { commit }),
      ...(walkedAtMs === undefined ? {} : { walkedAtMs }),
    });
    sum.graphs++;
  }
  return sum;
}

async function copyFiles(
  ours: GraphStore,
  theirs: GraphStore,
  graph: string,
  signal: AbortSignal | undefined,
): Promise<number> {
  let [count, after] = [0, ''];
  for (;;) {
    signal?.throwIfAborted();
    const records = await ours.records(graph, after, FILES_AT_ONCE);
    const last = records.at(-1);
    if (last === undefined) return count;
    await theirs.write(graph, { records });
    count += records.length;
    after = last.path;
  }
}

async function* numbered<Row extends { readonly n: number }>(
  read: (after: number) => Promise<readonly Row[]>,
  signal: AbortSignal | undefined,
): AsyncGenerator<readonly Row[], void> {
  for (let after = 0; ; ) {
    signal?.throwIfAborted();
    const page = await read(after);
    const last = page.at(-1);
    if (last === undefined) return;
    yield page;
    after = last.n;
  }
}
