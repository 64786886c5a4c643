import type { RepoFile, WalkedRepo } from './walk-repo.ts';

interface Folder {
  readonly name: string;
  readonly folders: Map<string, Folder>;
  readonly files: RepoFile[];
  count: number;
  bytes: number;
}

/** A tree of folders and files with their sizes; what lies deeper than `depth` is counted. */
export interface RepoTree {
  readonly deepest: number;
  draw(depth: number): string;
}

export function readTree(name: string, { files, folders, isCut }: WalkedRepo): RepoTree {
  const root = emptyFolder(name);
  let deepest = 1;
  const folderAt = (path: readonly string[]): Folder => {
    let at = root;
    for (const segment of path) {
      const next = at.folders.get(segment) ?? emptyFolder(segment);
      at.folders.set(segment, next);
      at = next;
    }
    return at;
  };
  for (const path of folders) folderAt(path.split('/'));
  for (const file of files) {
    const segments = file.path.split('/');
    deepest = Math.max(deepest, segments.length);
    folderAt(segments.slice(0, -1)).files.push(file);
    for (let length = 0; length < segments.length; length++) {
      const above = folderAt(segments.slice(0, length));
      above.count++;
      above.bytes += file.bytes;
    }
  }
  return {
    deepest,
    draw: (depth) =>
      [
        `${name}/ (${summary(root)}${isCut ? ' and more: the walk was ended early' : ''})`,
        ...linesOf(root, 1, depth),
      ].join('\n'),
  };
}

const emptyFolder = (name: string): Folder => ({ name, folders: new Map(), files: [], count: 0, bytes: 0 });

function* linesOf(folder: Folder, level: number, depth: number): Generator<string> {
  const indent = '  '.repeat(level);
  for (const inner of [...folder.folders.values()].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    yield `${indent}${inner.name}/${level < depth ? '' : ` (${summary(inner)})`}`;
    if (level < depth) yield* linesOf(inner, level + 1, depth);
  }
  for (const { path, bytes } of folder.files)
    yield `${indent}${path.slice(path.lastIndexOf('/') + 1)} (${sizeText(bytes)})`;
}

const summary = ({ count, bytes }: Folder): string =>
  `${count} ${count === 1 ? 'file' : 'files'}, ${sizeText(bytes)}`;

export function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const units = ['KiB', 'MiB', 'GiB'];
  let amount = bytes / 1024;
  while (amount >= 1024 && units.length > 1) {
    amount /= 1024;
    units.shift();
  }
  return `${amount < 10 ? amount.toFixed(1) : Math.round(amount)} ${units[0]}`;
}
