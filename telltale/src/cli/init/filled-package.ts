import { isJsonObject, type Json, type JsonObject } from '../../kernel/json.ts';

/** What `npm init` puts in place of a test. */
const NO_TEST = /no test specified/;

/**
 * A package.json that was there, with what a project of ours needs: scripts and dependencies that it does not have yet,
 * and modules, since there is no code in the folder that could be anything else.
 */
export function filledPackage(found: JsonObject, ours: JsonObject): string {
  const { test, ...kept } = mapOf(found.scripts);
  const scripts =
    test === undefined || (typeof test === 'string' && NO_TEST.test(test)) ? kept : { ...kept, test };
  const filled = {
    ...ours,
    ...found,
    type: 'module',
    scripts: { ...mapOf(ours.scripts), ...scripts },
    dependencies: { ...mapOf(ours.dependencies), ...mapOf(found.dependencies) },
  };
  return `${JSON.stringify(filled, null, 2)}\n`;
}

const mapOf = (value: Json | undefined): JsonObject => (isJsonObject(value) ? value : {});
