import { asText } from '../../conditions/as-text.ts';
import { readPath } from '../../conditions/own-property.ts';
import { PLAIN_NAME, parsePath } from '../../conditions/path.ts';
import type { Json } from '../../kernel/json.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { MAX_FEED_VALUE } from '../max-feed-value.ts';

/** `{value}`, `{value.items[0].name}`, `{value["a b"]}`; other braces are text. */
const PLACE = /\{(value(?:\.[A-Za-z_][\w-]*|\[\d{1,9}\]|\["(?:[^"\\]|\\.){0,200}"\])*)\}/g;

/** A template with the value in it. A path that leads nowhere leaves nothing: a source may change its shape. */
export function fillValue(template: string, value: Json): string {
  let text = '';
  let from = 0;
  for (const { 0: place, 1: path = '', index } of template.matchAll(PLACE)) {
    text += template.slice(from, index) + textAt(path, value);
    from = index + place.length;
    if (text.length > MAX_FEED_VALUE) throw tooLong();
  }
  return text + template.slice(from);
}

function textAt(path: string, value: Json): string {
  const parsed = parsePath(path, PLAIN_NAME);
  const found = parsed.ok ? readPath({ value }, parsed.value) : undefined;
  return found === undefined || found === null ? '' : asText(found as Json);
}

const tooLong = () =>
  new RuntimeError('feed_too_large', `The filled template has more than ${MAX_FEED_VALUE} characters.`, {
    hint: 'Put a part of the value into it: {value.name}.',
  });
