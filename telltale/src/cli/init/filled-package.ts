import { isJsonObject, type Json, type JsonObject } from '../../kernel/json.ts';

/** What `npm init` puts in place of a test. */
const NO_TEST = /no test specified/;

/**
 * A package.json that existed, with what the project needs: the scripts and dependencies that it lacks, and
 * `"type": "module"`, since the folder holds no code yet.
 */
export function filledPackage(found: JsonObject, ours: JsonObject): string {
  const { test, ...kept } = mapOf(found.scripts);
  const scripts =
    test === undefined || (typeof test === 'string' && NO_TEST.test(test)) ? kept : { ...kept, test };
  const { dependencies: _, devDependencies: __, ...plain } = ours;
  const filled = {
    ...plain,
    ...found,
    type: 'module',
    scripts: { ...mapOf(ours.scripts), ...scripts },
    ...merged('dependencies', ours, found),
    ...merged('devDependencies', ours, found),
  };
  return `${JSON.stringify(filled, null, 2)}\n`;
}

/** A package that is found in the other list of dependencies is found, too. */
function merged(list: string, ours: JsonObject, found: JsonObject): JsonObject {
  const known = { ...mapOf(found.dependencies), ...mapOf(found.devDependencies) };
  const missing = Object.entries(mapOf(ours[list])).filter(([name]) => !Object.hasOwn(known, name));
  const all = { ...Object.fromEntries(missing), ...mapOf(found[list]) };
  return Object.keys(all).length === 0 ? {} : { [list]: all };
}

const mapOf = (value: Json | undefined): JsonObject => (isJsonObject(value) ? value : {});
