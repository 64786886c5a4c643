import type { ArtifactVersion } from './artifacts.ts';

export const GENESIS_PREFIX = 'genesis_';

/** Whether it is one of the runtime's own: read-only, and free of cost. */
export const isGenesis = (name: string): boolean => name.startsWith(GENESIS_PREFIX);

/** Asked afresh each time, whatever the invocation says. */
export const NEVER_CACHED = 'genesis_random_decider';

const genesis = (
  name: string,
  description: string,
  methods: readonly string[],
  source: string,
): readonly [string, ArtifactVersion] => [
  name,
  { name, version: 1, language: 'js', source, methods, description, author: 'genesis', at: 0 },
];

/**
 * The context is the last argument, so where a method is called without arguments it is the first one: a setting is
 * looked for by its key and never by its place alone.
 */
export const GENESIS: ReadonlyMap<string, ArtifactVersion> = new Map([
  genesis(
    NEVER_CACHED,
    'Decides by chance: decide(probability), decide_option({options, weights}).',
    ['decide', 'decide_option'],
    `export function decide(setting) {
  const probability = typeof setting === 'number' ? setting : (setting?.probability ?? 0.5);
  if (typeof probability !== 'number' || !(probability >= 0 && probability <= 1))
    throw new RangeError('decide(probability) takes a number from 0 to 1.');
  return Math.random() < probability;
}
export function decide_option(setting) {
  const { options, weights } = setting ?? {};
  if (!Array.isArray(options) || options.length === 0)
    throw new TypeError('decide_option({options, weights}) takes a list of options that is not empty.');
  const shares = weights ?? options.map(() => 1);
  if (!Array.isArray(shares) || shares.length !== options.length || shares.some((share) => !(share >= 0)))
    throw new TypeError('"weights" is a list of numbers from 0 on, one for each option.');
  const total = shares.reduce((sum, share) => sum + share, 0);
  if (!(total > 0)) throw new RangeError('One of "weights" has to be above 0.');
  let left = Math.random() * total;
  for (let index = 0; index < options.length; index++) {
    left -= shares[index];
    if (left < 0) return options[index];
  }
  return options[shares.findLastIndex((share) => share > 0)];
}`,
  ),
  genesis(
    'genesis_balance_checker',
    'Looks at the balance: check({threshold}), compare({op, value}).',
    ['check', 'compare'],
    `const NONE = { success: false, error: 'the agent has no budget' };
export function check(setting, context) {
  const { threshold } = setting ?? {};
  const balance = (context ?? setting)?.balance;
  if (typeof threshold !== 'number') throw new TypeError('check({threshold}) takes a number.');
  return typeof balance === 'number' ? balance > threshold : NONE;
}
const OPS = {
  lt: (a, b) => a < b, lte: (a, b) => a <= b, gt: (a, b) => a > b, gte: (a, b) => a >= b, eq: (a, b) => a === b,
};
export function compare(setting, context) {
  const { op, value } = setting ?? {};
  const balance = (context ?? setting)?.balance;
  if (!Object.hasOwn(OPS, op) || typeof value !== 'number')
    throw new TypeError('compare({op, value}) takes op lt, lte, gt, gte or eq, and a number.');
  return typeof balance === 'number' ? OPS[op](balance, value) : NONE;
}`,
  ),
  genesis(
    'genesis_error_detector',
    'Looks for errors: check_recent({count: 3}), get_error_rate({count: 10, threshold: 0.5}).',
    ['check_recent', 'get_error_rate'],
    `const BAD = ['failed', 'interrupted'];
const last = (setting, context, otherwise) => {
  const count = (context === undefined ? undefined : setting?.count) ?? otherwise;
  if (!Number.isInteger(count) || count < 1) throw new RangeError('"count" is a whole number from 1 on.');
  const ended = ((context ?? setting)?.recent_actions ?? []).filter(
    ({ status }) => status === 'completed' || status === 'compensated' || BAD.includes(status),
  );
  return ended.slice(-count);
};
export function check_recent(setting, context) {
  return last(setting, context, 3).some(({ status }) => BAD.includes(status));
}
export function get_error_rate(setting, context) {
  const recent = last(setting, context, 10);
  const bad = recent.filter(({ status }) => BAD.includes(status)).length;
  const rate = recent.length === 0 ? 0 : bad / recent.length;
  const threshold = context === undefined ? undefined : setting?.threshold;
  return threshold === undefined ? rate : rate >= threshold;
}`,
  ),
  genesis(
    'genesis_majority',
    'A vote among artifacts: vote({artifacts, method, args}), choose({artifacts, method, args}).',
    ['vote', 'choose'],
    `const ballots = (setting) => {
  const { artifacts, method, args = [] } = setting ?? {};
  if (!Array.isArray(artifacts) || artifacts.length === 0)
    throw new TypeError('"artifacts" is a list of names, or of {artifact, method, args}, that is not empty.');
  return artifacts.map((voter) => {
    const own = typeof voter === 'string' ? { artifact: voter } : voter;
    const name = own.method ?? method;
    if (typeof name !== 'string') throw new TypeError('"method" says which method of the artifacts is asked.');
    try {
      return { given: invoke(own.artifact, name, ...(own.args ?? args)) };
    } catch {
      return {};
    }
  });
};
export function vote(setting) {
  const all = ballots(setting);
  return all.filter(({ given }) => given === true).length * 2 > all.length;
}
export function choose(setting) {
  const counts = new Map();
  for (const { given } of ballots(setting))
    if (typeof given === 'string') counts.set(given, (counts.get(given) ?? 0) + 1);
  let best;
  for (const [given, count] of counts) if (best === undefined || count > counts.get(best)) best = given;
  return best ?? { success: false, error: 'nobody gave an answer' };
}`,
  ),
]);
