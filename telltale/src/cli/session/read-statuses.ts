import { suggest } from '../../kernel/nearest.ts';
import { usage } from '../usage.ts';

/** What `--status` names, parted by commas. */
export function readStatuses(text: string, known: readonly string[]): ReadonlySet<string> {
  const asked = text.split(',').map((each) => each.trim());
  const wrong = asked.find((each) => !known.includes(each));
  if (wrong !== undefined) throw usage(`There is no status '${wrong}'.`, suggest(wrong, known, 'Statuses'));
  return new Set(asked);
}
