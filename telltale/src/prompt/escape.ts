import { escapeReservedTags } from '../kernel/reserved-tags.ts';

const MASKED_KEY = '[key]';

/** Makes text from outside safe to stand in a prompt: it cannot speak the protocol. */
export type Escape = (text: string) => string;

/** `seal` is the session's key, which nobody but the runtime may put in front of the model. */
export function createEscape(seal?: string): Escape {
  if (seal === undefined || seal === '') return escapeReservedTags;
  return (text) => escapeReservedTags(text.includes(seal) ? text.replaceAll(seal, MASKED_KEY) : text);
}

/** How many tags of a text were escaped. */
export const escapesIn = (text: string, shown: string): number => countOf(shown) - countOf(text);

const countOf = (text: string) => text.split('&lt;').length - 1;

/** A value between double quotes in a tag of the runtime's own. */
export function escapeAttribute(value: string): string {
  return /[&<>"]/.test(value)
    ? value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
    : value;
}
