import { knownModels } from '../models/prices.ts';
import { KNOWN_PROVIDERS } from '../models/providers/known-providers.ts';

/** The models of the providers whose keys are set, as `provider/model`, as far as they are known here. */
export const modelsWithKeys = (env: Readonly<Record<string, string | undefined>>): readonly string[] =>
  Object.entries(KNOWN_PROVIDERS).flatMap(([provider, { keyVariable, needsKey }]) =>
    needsKey && keyVariable !== undefined && env[keyVariable] ? knownModels(provider) : [],
  );
