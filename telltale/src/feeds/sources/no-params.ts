import type { JsonObject } from '../../kernel/json.ts';
import { clip } from '../../manifest/schema/show-value.ts';
import { badParams } from './feed-errors.ts';

/** For a source that takes none, and does one thing only. */
export function noParams(what: string, params: JsonObject, action?: string): void {
  const [first] = Object.keys(params);
  if (first !== undefined)
    throw badParams(what, `there is no parameter "/${clip(first)}".`, 'It takes none.');
  if (action !== undefined)
    throw badParams(
      what,
      `there is no action "${clip(action)}".`,
      'Leave "action" out: it does one thing only.',
    );
}
