import { createHash } from 'node:crypto';

/** What a tool takes: all of it required, so that every system can declare it. */
export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, string>>;
  /** How long a call takes. */
  readonly ms: number;
}

const spec = (
  name: string,
  ms: number,
  description: string,
  parameters: Readonly<Record<string, string>>,
): ToolSpec => ({ name, description, parameters, ms });

/** The tools of the assistant that is given the ten tasks, the same for every system. All parameters are strings. */
export const TOOLS: readonly ToolSpec[] = [
  spec('read_file', 20, 'Reads a text file of the project.', { path: 'Path below the project folder' }),
  spec('write_file', 20, 'Writes a text file of the project.', {
    path: 'Path below the project folder',
    text: 'The whole content',
  }),
  spec('replace_in_file', 20, 'Replaces a piece of text that occurs once in a file.', {
    path: 'Path below the project folder',
    old: 'The text to replace, exactly',
    new: 'The text to put in its place',
  }),
  spec('search_code', 150, 'Finds the lines of the project that contain a text.', { text: 'What to find' }),
  spec('run_tests', 2_000, 'Runs the tests of a package, or of all packages.', {
    package: 'Name of the package, or "all"',
  }),
  spec('build', 3_000, 'Builds a package for release.', { package: 'Name of the package' }),
  spec('checksum', 200, 'Computes the SHA-256 of an artifact.', { artifact: 'Path of the artifact' }),
  spec('upload', 1_500, 'Uploads an artifact to the release server.', {
    artifact: 'Path of the artifact',
    sha256: 'Its checksum',
  }),
  spec('send_message', 300, 'Sends a message to a channel or an address.', {
    to: 'Channel or address',
    text: 'The message',
  }),
  spec('web_search', 700, 'Searches the web.', { query: 'What to search for' }),
  spec('fetch_page', 900, 'Fetches a page and returns its text.', { url: 'Address of the page' }),
  spec('get_weather', 400, 'Returns the weather of a city.', { city: 'Name of the city' }),
  spec('query_logs', 800, 'Searches the logs of a service.', {
    service: 'Name of the service',
    filter: 'What the lines must contain',
  }),
  spec('find_customer', 250, 'Finds a customer by e-mail address.', { email: 'E-mail address' }),
  spec('list_orders', 250, 'Lists the orders of a customer, newest first.', { customer: 'Customer id' }),
  spec('get_shipment', 250, 'Returns the state of a shipment.', { shipment: 'Shipment id' }),
  spec('refund', 600, 'Refunds an order.', { order: 'Order id', reason: 'Why' }),
];

/** What the sub-agent of the task `team` may use. */
export const RESEARCH_TOOLS: readonly ToolSpec[] = TOOLS.filter(({ name }) =>
  ['web_search', 'fetch_page'].includes(name),
);

export const INSTRUCTIONS =
  'You are an assistant for a software team. You work on their code, their releases and their customers with the tools that you have. Read before you change something, and test after it. Answer briefly, with the facts that you were asked for.';
export const RESEARCHER = 'researcher';
export const RESEARCHER_DESCRIPTION = 'Researches one question on the web and answers it in one sentence.';
export const RESEARCH_INSTRUCTIONS =
  'You research one question: search, read the best page, and answer in one sentence with the figure that you found.';

type Values = Readonly<Record<string, string>>;

/** One call that was made, with what it was given. */
export interface MadeCall {
  readonly tool: string;
  readonly values: Values;
}

/**
 * The world that the tools act on, new for each session. Facts hold a code that is made of `seed`: an answer with the
 * right codes can only come from what the tools returned in this very session.
 */
export class World {
  readonly calls: MadeCall[] = [];
  readonly seed: string;
  /** How many times faster than real the tools are. */
  readonly speed: number;
  readonly #files: Map<string, string>;

  constructor(seed: string, speed = 1) {
    this.seed = seed;
    this.speed = speed;
    this.#files = new Map(Object.entries(projectFiles(this)));
  }

  /** A fact's code: six characters. */
  code(key: string): string {
    return createHash('sha256').update(`${this.seed} ${key}`).digest('hex').slice(0, 6);
  }

  async call(tool: string, values: Values): Promise<unknown> {
    const found = TOOLS.find(({ name }) => name === tool);
    if (found === undefined) throw new Error(`There is no tool "${tool}".`);
    this.calls.push({ tool, values });
    await new Promise((resolve) => setTimeout(resolve, found.ms / this.speed));
    const act = ACTS[tool];
    if (act === undefined) throw new Error(`The tool "${tool}" does nothing.`);
    return act(values, this);
  }

  file(path: string): string {
    const text = this.#files.get(path);
    if (text === undefined) throw new Error(`There is no file "${path}".`);
    return text;
  }

  write(path: string, text: string): void {
    this.#files.set(path, text);
  }

  lines(text: string): readonly { path: string; line: number; text: string }[] {
    return [...this.#files].flatMap(([path, content]) =>
      content
        .split('\n')
        .flatMap((line, index) => (line.includes(text) ? [{ path, line: index + 1, text: line }] : [])),
    );
  }
}

const ACTS: Readonly<Record<string, (values: Values, world: World) => unknown>> = {
  read_file: ({ path = '' }, world) => ({ path, text: world.file(path) }),
  write_file: ({ path = '', text = '' }, world) => {
    world.write(path, text);
    return { path, characters: text.length };
  },
  replace_in_file: ({ path = '', old = '', new: text = '' }, world) => {
    const content = world.file(path);
    if (content.split(old).length !== 2)
      throw new Error(`The text does not occur exactly once in "${path}".`);
    world.write(
      path,
      content.replace(old, () => text),
    );
    return { path, replaced: 1 };
  },
  search_code: ({ text = '' }, world) => ({ matches: world.lines(text) }),
  run_tests: ({ package: name = '' }, world) => {
    const failures = failuresOf(name, world);
    return {
      run: `run-${world.code(`${name} ${world.calls.length}`)}`,
      passed: failures.length === 0,
      failures,
    };
  },
  build: ({ package: name = '' }, world) => ({
    version: `2.4.${Number.parseInt(world.code('version').slice(0, 2), 16)}`,
    artifact: `dist/${name}-${world.code('artifact')}.tgz`,
  }),
  checksum: ({ artifact = '' }, world) => ({ artifact, sha256: world.code(artifact).repeat(8) }),
  upload: ({ artifact = '', sha256 = '' }, world) => {
    if (sha256 !== world.code(artifact).repeat(8)) throw new Error('The checksum is wrong.');
    return { url: `https://releases.example/${world.code(`${artifact} upload`)}` };
  },
  send_message: ({ to = '' }, world) => ({ id: `msg-${world.code(to)}` }),
  web_search: ({ query = '' }, world) => ({
    results: ['first', 'second', 'third'].map((rank) => ({
      title: `${query}, the ${rank} source`,
      url: `https://${rank}.example/${world.code(`${query} ${rank}`)}`,
      snippet: `What ${rank === 'first' ? 'the authority' : 'another page'} says about ${query}.`,
    })),
  }),
  fetch_page: ({ url = '' }, world) => ({
    url,
    text: `${PAGE_TEXT} The figure is ${world.code(`${url} figure`)}. ${PAGE_TEXT}`,
  }),
  get_weather: ({ city = '' }, world) => ({
    city,
    celsius: Number.parseInt(world.code(city).slice(0, 4), 16) / 1000,
    station: world.code(`${city} station`),
  }),
  query_logs: ({ service = '', filter = '' }, world) => ({
    lines: [
      `12:00:01 ${service} ${filter} request ${world.code(`${service} ${filter}`)} failed: ${NEXT_HOP[service] ?? 'disk full'}`,
      `12:00:02 ${service} retrying`,
    ],
  }),
  find_customer: ({ email = '' }, world) => ({ id: `cus-${world.code(email)}`, email, name: 'Ada Park' }),
  list_orders: ({ customer = '' }, world) => ({
    orders: [1, 2].map((n) => ({
      id: `ord-${world.code(`${customer} ${n}`)}`,
      total: 40 * n,
      shipment: `shp-${world.code(`${customer} ${n} shipment`)}`,
    })),
  }),
  get_shipment: ({ shipment = '' }, world) => ({
    shipment,
    state: 'lost',
    depot: world.code(`${shipment} depot`),
  }),
  refund: ({ order = '' }, world) => ({ id: `ref-${world.code(`${order} refund`)}`, order }),
};

const PAGE_TEXT =
  'This page gathers what is known about the subject, from the annual reports of the last years and the statements of those who took part. It was checked by two editors before it was published, and it names its sources at the end. Earlier editions had other figures, which have been withdrawn since.';

/** Which service a failing request went to: the task `incident` follows them. */
const NEXT_HOP: Readonly<Record<string, string>> = {
  web: 'upstream checkout timed out',
  checkout: 'upstream payments timed out',
  payments: 'upstream ledger timed out',
  ledger: 'upstream storage timed out',
};

/** The configuration files that the task `migration` changes, one after the other. */
export const CONFIGS: readonly string[] = [1, 2, 3, 4, 5, 6, 7, 8].map((n) => `config/service-${n}.yml`);
/** The files that use the function that the task `rename` renames. */
export const USERS_OF_FETCH: readonly string[] = ['api', 'jobs', 'mail', 'report', 'web'].map(
  (name) => `src/${name}.ts`,
);

function projectFiles(world: World): Record<string, string> {
  const files: Record<string, string> = {
    'src/price.ts':
      'export function price(quantity: number, unit: number, discount: number): number {\n  return quantity * unit;\n}\n',
    'test/price.test.ts':
      "test('a discount of a tenth', () => {\n  expect(price(2, 50, 0.1)).toBe(90);\n});\n",
    'docs/architecture.md': architecture(world),
  };
  for (const path of USERS_OF_FETCH)
    files[path] =
      `import { fetchUser } from './users.ts';\n\nexport const of = (id: string) => load(id, ${path.length});\n`;
  for (const path of CONFIGS)
    files[path] = `name: ${path}\nkey: ${world.code(path)}\ntimeout: 30\nretries: 2\nregion: eu-1\n`;
  return files;
}

const architecture = (world: World): string =>
  ['ingest', 'index', 'query', 'billing', 'alerts', 'archive']
    .map(
      (part) =>
        `## ${part}\n\nThe part "${part}" has the owner ${world.code(`${part} owner`)}. ${PAGE_TEXT} It restarts within ten seconds, keeps its state in the database, and talks to the others by messages only.\n`,
    )
    .join('\n');

function failuresOf(name: string, world: World): readonly string[] {
  const failures: string[] = [];
  if (name === 'price' && !world.file('src/price.ts').includes('(1 - discount)'))
    failures.push('a discount of a tenth: expected 90, got 100');
  if (name === 'users')
    for (const path of USERS_OF_FETCH)
      if (!world.file(path).includes('loadUser')) failures.push(`${path}: no loadUser`);
  for (const path of CONFIGS)
    if (name === path && !world.file(path).includes('timeout_seconds:')) failures.push(`${path}: old key`);
  return failures;
}
