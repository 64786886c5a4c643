import type { KnownProvider } from '../../models/providers/known-providers.ts';
import type { Check, CheckContext, Finding } from './check.ts';

const REACH_MS = 3_000;

/** Keys by their names only, the packages that speak to providers, and whether those answer. */
export const checkProviders: Check = async (context) => {
  const { KNOWN_PROVIDERS } = await import('../../models/providers/known-providers.ts');
  const findings = await Promise.all(
    Object.entries(KNOWN_PROVIDERS).map(([name, provider]) => checkProvider(name, provider, context)),
  );
  const found = findings.flatMap((finding) => finding ?? []);
  if (found.length > 0) return found;
  const keys = Object.values(KNOWN_PROVIDERS).flatMap(({ keyVariable, needsKey }) =>
    needsKey && keyVariable !== undefined ? [keyVariable] : [],
  );
  return [
    {
      name: 'Models',
      status: 'warn',
      detail: 'no provider key is set; scripted: models need none',
      fix: `Set one of ${keys.join(', ')}.`,
    },
  ];
};

/** Nothing of a provider that nobody has set up. */
async function checkProvider(
  name: string,
  provider: KnownProvider,
  { io, machine, online }: CheckContext,
): Promise<Finding | undefined> {
  const { keyVariable, baseVariable } = provider;
  const isSet = [keyVariable, baseVariable].filter((each) => each !== undefined && Boolean(io.env[each]));
  const address = io.env[baseVariable] || provider.baseURL;
  if (isSet.length === 0 && (!online || address === undefined)) return undefined;
  const label = `Model ${name}`;
  const told = isSet.length === 0 ? 'no key' : `${isSet.join(' and ')} set`;
  if (!machine.hasPackage(provider.package))
    return {
      name: label,
      status: 'warn',
      detail: `${told}, but ${provider.package} is not installed`,
      fix: `npm install ${provider.package}`,
    };
  if (address === undefined)
    return { name: label, status: 'warn', detail: `${told}, but no address`, fix: `Set ${baseVariable}.` };
  const status = await machine.reach(address, REACH_MS);
  const where = hostOf(address);
  if (status === undefined)
    return {
      name: label,
      status: 'warn',
      detail: `${told}; ${where} did not answer within ${REACH_MS / 1000} s`,
      fix: `Check the network, the proxy, or ${baseVariable}.`,
    };
  return { name: label, status: 'ok', detail: `${told}; ${where} answers` };
}

/** An address may hold a password. */
function hostOf(address: string): string {
  try {
    return new URL(address).host;
  } catch {
    return 'its address';
  }
}
