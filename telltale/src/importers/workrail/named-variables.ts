/** A line that says that what follows is put into the context. */
const LISTS =
  /\b(?:set|sets|setting|update|capture|record|store|keep|initialize|define|emit|persist)\b.*\b(?:context|variables?|fields?|keys?)\b|^\W*(?:set|capture|context variables?)\b[^.]*:\W*$/i;
const BULLET = /^(\s*)(?:[-*•]|\d+[.)])\s+/;
const NAME = /^[A-Za-z_][A-Za-z0-9_]{1,63}$/;
const QUOTED = /`([A-Za-z_]\w*)(?:\s*[=:][^`]*)?`/g;
/** Words that stand in back-quotes beside variables and are none. */
const NO_VARIABLES: ReadonlySet<string> = new Set([
  ...[
    'context',
    'continue_workflow',
    'start_workflow',
    'complete_step',
    'notesMarkdown',
    'output',
    'artifacts',
    'true',
  ],
  ...['false', 'null', 'context_updates', 'continue', 'stop'],
]);
const SET =
  /\b(?:set|sets|setting|initialize|increment|update)\s+(?:the\s+)?(?:context\s+)?(?:variables?\s+)?['"`]([A-Za-z_]\w*)/gi;

/**
 * Variables that a prompt tells the agent to set, in words: whatever it lists in back-quotes behind "Set context
 * variables:" and the like. A guess on the generous side: a variable too many costs nothing, one that is not declared
 * cannot be set.
 */
export function namedVariables(text: string): ReadonlySet<string> {
  const found = new Set<string>();
  const add = (name: string | undefined): void => {
    if (name !== undefined && NAME.test(name) && !NO_VARIABLES.has(name)) found.add(name);
  };
  /** Where the bullets of the list in hand begin; those further in are its explanations. */
  let indent: number | undefined;
  let isListing = false;
  for (const line of text.split('\n')) {
    for (const [, name] of line.matchAll(SET)) add(name);
    const bullet = BULLET.exec(line);
    if (isListing && bullet !== null) {
      indent ??= bullet[1]?.length ?? 0;
      if ((bullet[1]?.length ?? 0) <= indent) add(firstQuoted(line));
    } else if (LISTS.test(line)) {
      isListing = true;
      indent = undefined;
      if (/context|variable/i.test(line)) for (const [, name] of line.matchAll(QUOTED)) add(name);
    } else if (line.trim() !== '') isListing = false;
  }
  return found;
}

const firstQuoted = (line: string): string | undefined =>
  /^\s*(?:[-*•]|\d+[.)])\s+(?:\*\*)?(?:(?:set|update)\s+)?`([A-Za-z_]\w*)/i.exec(line)?.[1];
