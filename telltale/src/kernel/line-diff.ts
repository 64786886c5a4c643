/** A line of a comparison: in both, only in the old text, or only in the new one. */
export interface DiffLine {
  readonly kind: 'same' | 'old' | 'new';
  readonly text: string;
}

/** Lines of each text: the table of the comparison has as many cells as their product. */
const MAX_LINES = 2000;

/** What changed from one text to the other, line by line. Longer texts are compared as a whole. */
export function lineDiff(before: string, after: string): readonly DiffLine[] {
  const old = before.split('\n');
  const fresh = after.split('\n');
  const all = (texts: readonly string[], kind: DiffLine['kind']) => texts.map((text) => ({ kind, text }));
  if (old.length > MAX_LINES || fresh.length > MAX_LINES) return [...all(old, 'old'), ...all(fresh, 'new')];
  const width = fresh.length + 1;
  /** The length of the longest common part of what is left of both, from each pair of places. */
  const common = new Uint16Array((old.length + 1) * width);
  for (let i = old.length - 1; i >= 0; i--)
    for (let j = fresh.length - 1; j >= 0; j--)
      common[i * width + j] =
        old[i] === fresh[j]
          ? (common[(i + 1) * width + j + 1] ?? 0) + 1
          : Math.max(common[(i + 1) * width + j] ?? 0, common[i * width + j + 1] ?? 0);
  const lines: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < old.length && j < fresh.length) {
    if (old[i] === fresh[j]) {
      lines.push({ kind: 'same', text: old[i] ?? '' });
      i++;
      j++;
    } else if ((common[(i + 1) * width + j] ?? 0) >= (common[i * width + j + 1] ?? 0))
      lines.push({ kind: 'old', text: old[i++] ?? '' });
    else lines.push({ kind: 'new', text: fresh[j++] ?? '' });
  }
  return [...lines, ...all(old.slice(i), 'old'), ...all(fresh.slice(j), 'new')];
}

/** Only what changed, and so many lines around it; undefined stands for what is left out. */
export function hunks(lines: readonly DiffLine[], around = 3): readonly (DiffLine | undefined)[] {
  const near = lines.map((_, at) =>
    lines.slice(Math.max(0, at - around), at + around + 1).some(({ kind }) => kind !== 'same'),
  );
  return lines.flatMap((line, at) => (near[at] ? [line] : at === 0 || near[at - 1] ? [undefined] : []));
}
