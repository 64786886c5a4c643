import type { Store, StreamInfo } from '../store.ts';
import { listPages } from './list-pages.ts';

/** Streams of one tree; what has more is left alone. */
const MAX_TREE = 100_000;

/** A stream and all that it called, whoever called before what was called, the oldest first; undefined where that is too much. */
export async function treeOf(
  store: Pick<Store, 'list'>,
  root: StreamInfo,
  signal?: AbortSignal,
): Promise<readonly StreamInfo[] | undefined> {
  const tree = [root];
  const names = new Set([root.stream]);
  for (let at = 0; at < tree.length; at++) {
    const called: StreamInfo[] = [];
    for await (const page of listPages(store, { parent: (tree[at] as StreamInfo).stream }, signal))
      for (const info of page) {
        if (tree.length + called.length >= MAX_TREE) return undefined;
        if (!names.has(info.stream)) called.push(info);
        names.add(info.stream);
      }
    tree.push(...called.reverse());
  }
  return tree;
}
