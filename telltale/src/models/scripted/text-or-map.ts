import type { z } from 'zod';
import { choice } from '../../manifest/schema/choice.ts';
import { isMap } from '../../manifest/schema/is-map.ts';
import { showValue } from '../../manifest/schema/show-value.ts';

/** What may be written as text or, with more to say, as a map. `title` begins the message about anything else. */
export function textOrMap<Text extends z.core.$ZodType, Map extends z.core.$ZodType>(
  title: string,
  asText: Text,
  asMap: Map,
  hint = 'Put text that looks like a number in quotes.',
): z.ZodUnion<[Text, Map]> {
  return choice([asText, asMap], (value) => {
    if (typeof value === 'string') return asText;
    if (isMap(value)) return asMap;
    const message = `${title} has to be text or a map, but is ${showValue(value)}.`;
    return { refused: { code: 'wrong_type', message, hint } };
  });
}
