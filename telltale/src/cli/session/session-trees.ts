import type { StreamInfo } from '../../store/store.ts';

export interface ListedSession {
  readonly info: StreamInfo;
  /** 0 for one that nobody called, or whose caller is not listed. */
  readonly depth: number;
}

/** Sessions, newest first, each with those that it called behind it, oldest first. */
export function sessionTrees(found: readonly StreamInfo[]): readonly (readonly ListedSession[])[] {
  const listed = new Set(found.map(({ stream }) => stream));
  const called = new Map<string, StreamInfo[]>();
  for (const info of found)
    if (info.parent !== undefined && listed.has(info.parent))
      called.set(info.parent, [...(called.get(info.parent) ?? []), info]);
  const tree = (info: StreamInfo, depth: number): ListedSession[] => [
    { info, depth },
    ...(called.get(info.stream) ?? []).toSorted(inOrder).flatMap((child) => tree(child, depth + 1)),
  ];
  return found.flatMap((info) =>
    info.parent !== undefined && listed.has(info.parent) ? [] : [tree(info, 0)],
  );
}

/** Those that were called in one moment are told apart by the ids of their actions. */
const inOrder = (one: StreamInfo, other: StreamInfo): number =>
  one.createdAt - other.createdAt || one.stream.localeCompare(other.stream, 'en', { numeric: true });
