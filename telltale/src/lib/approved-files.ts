import { visibleText } from './text.ts';

/** A file that is part of an approval. */
export type ApprovedFile = {
  /** Relative to the agent's folder where it is inside, else absolute. */
  readonly path: string;
  /** `sha256:…` of its content, or why there is none: `missing`, `unreadable`, `too large`. */
  readonly content: string;
  /** The file that it really is, where a link leads there. */
  readonly leads?: string;
};

/** What an approval covers besides the call. */
export type Covered = {
  /** The files that the call names and runs. The approval is of this content. */
  readonly files?: readonly ApprovedFile[];
  /** Why the call may run other files, which the approval does not cover. Absent where all of them are known. */
  readonly uncovered?: readonly string[];
};

/** Only these two members of something. */
export const coveredOf = ({ files, uncovered }: Covered): Covered => ({
  ...(files === undefined ? {} : { files }),
  ...(uncovered === undefined ? {} : { uncovered }),
});

/** The same as a person may read it, with what cannot be seen spelled out. */
export const visibleCovered = ({ files, uncovered }: Covered): Covered => ({
  ...(files === undefined
    ? {}
    : {
        files: files.map(({ path, content, leads }) => ({
          path: visibleText(path),
          content,
          ...(leads === undefined ? {} : { leads: visibleText(leads) }),
        })),
      }),
  ...(uncovered === undefined ? {} : { uncovered: uncovered.map(visibleText) }),
});

/** What a person is told before they approve. Undefined where the approval covers all that runs. */
export const uncoveredText = ({ uncovered = [] }: Covered): string | undefined =>
  uncovered.length === 0
    ? undefined
    : visibleText(
        `This command may run other files that this approval does not cover: ${uncovered.join('; ')}.`,
      );

/** How the files of a call differ from those that somebody was asked about, in words. */
export function fileChanges(asked: Covered, now: Covered): readonly string[] {
  const before = new Map((asked.files ?? []).map((file) => [file.path, file]));
  const after = new Map((now.files ?? []).map((file) => [file.path, file]));
  const changes = [...after].flatMap(([path, file]) => {
    const was = before.get(path);
    if (was === undefined) return [`it also names the file "${path}" now (${shortContent(file)})`];
    if (was.leads !== file.leads)
      return [`"${path}" leads to "${file.leads ?? path}", and led to "${was.leads ?? path}"`];
    if (was.content === file.content) return [];
    if (was.content === 'missing') return [`"${path}" is there now, and was not (${shortContent(file)})`];
    return [`the file "${path}" has changed: it is ${shortContent(file)}, and was ${shortContent(was)}`];
  });
  for (const path of before.keys()) if (!after.has(path)) changes.push(`"${path}" is no file any more`);
  // What was asked before coverage was written down says nothing of it.
  if (asked.files === undefined && asked.uncovered === undefined) return changes;
  const known = new Set(asked.uncovered);
  for (const reason of now.uncovered ?? [])
    if (!known.has(reason)) changes.push(`the approval would not cover all that runs now: ${reason}`);
  return changes;
}

/** The beginning of a hash, for people. */
export const shortContent = ({ content }: Pick<ApprovedFile, 'content'>): string =>
  content.startsWith('sha256:') ? content.slice(0, 'sha256:'.length + 12) : content;
