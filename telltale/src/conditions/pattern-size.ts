const REPEAT = /\{(\d{1,4})(?:,(\d{0,4}))?\}/y;
/** A character class, or an escape that goes on in braces: one instruction, whatever is in it. */
const ONE_ATOM = /\\[pPx]\{[^}]*\}|\\[\s\S]|\[\^?\]?(?:\\[\s\S]|[^\]\\])*\]/y;

/**
 * About how many instructions a pattern expands to: repeat counts multiply what they stand behind. Too large rather
 * than too small, and linear in the pattern, since it guards the compiler.
 */
export function expandedSize(pattern: string): number {
  const groups: { total: number; last: number }[] = [];
  let group = { total: 0, last: 0 };
  const atom = (size: number) => {
    group.total += size;
    group.last = size;
  };
  for (let at = 0; at < pattern.length; ) {
    const repeat = matchAt(REPEAT, pattern, at);
    const one = repeat === null ? matchAt(ONE_ATOM, pattern, at) : null;
    if (repeat !== null) {
      const times = Math.max(Number(repeat[1]), Number(repeat[2] ?? 0), 1);
      group.total += group.last * (times - 1);
      group.last *= times;
    } else if (one !== null) atom(1);
    else if (pattern[at] === '(') {
      groups.push(group);
      group = { total: 2, last: 0 };
    } else if (pattern[at] === ')') {
      const inner = group.total;
      group = groups.pop() ?? { total: 0, last: 0 };
      atom(inner);
    } else if (!'*+?|'.includes(pattern[at] ?? '')) atom(1);
    else group.total += 1;
    at += repeat?.[0].length ?? one?.[0].length ?? 1;
  }
  return groups.reduce((sum, open) => sum + open.total, group.total);
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}
