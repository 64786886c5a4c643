import { type ReadTemplates, readTemplates, type Templates } from './read-templates.ts';

/** Of names of items around one value: as many as there are lists of steps around it. */
const MAX_VARIANTS = 16;

/**
 * Reads what manifests say once, however many runs there are: reading it took a fifth of the time of a step. What is not
 * frozen may be another thing the next time, and texts by themselves are not remembered.
 */
export function createTemplateReader(): ReadTemplates {
  const known = new WeakMap<object, Map<string, Templates>>();
  return (value, names, what) => {
    if (typeof value !== 'object' || value === null || !Object.isFrozen(value))
      return readTemplates(value, names, what);
    let variants = known.get(value);
    if (variants === undefined) {
      variants = new Map();
      known.set(value, variants);
    }
    const key = names.length === 0 ? '' : names.join('\n');
    let templates = variants.get(key);
    if (templates === undefined) {
      templates = readTemplates(value, names, what);
      if (variants.size < MAX_VARIANTS) variants.set(key, templates);
    }
    return templates;
  };
}
