import { CONFIGS, USERS_OF_FETCH } from './world.ts';

/** What a model reads in the results it was shown: the value at a path of the result of one call. */
export type Read = (call: string, path?: string) => unknown;

/** The result of an earlier call, or a part of it, passed on unchanged. */
export interface Reference {
  readonly kind: 'reference';
  readonly call: string;
  readonly path: string;
}
/** A text around references. */
export interface Template {
  readonly kind: 'template';
  readonly parts: readonly (string | Reference)[];
}
/** What only a model that has read these results can say. */
export interface Thought {
  readonly kind: 'thought';
  readonly of: readonly string[];
  readonly say: (read: Read) => string;
}
export type Argument = string | Reference | Template | Thought;

/** One call of a task's graph. It may be made once what its arguments need is there, and `after` has ended. */
export interface Call {
  readonly id: string;
  /** A tool of world.ts, or the sub-agent. */
  readonly tool: string;
  readonly arguments: Readonly<Record<string, Argument>>;
  readonly after?: readonly string[];
}

export interface Task {
  readonly id: string;
  readonly title: string;
  /** What the user asks. It is how the policy knows the task. */
  readonly question: string;
  readonly calls: readonly Call[];
  readonly answer: Template | Thought;
  /** Its calls do not depend on each other, but by what the model thinks about their results. */
  readonly isChainFree?: boolean;
  /** The task of a sub-agent counts for this one. */
  readonly partOf?: string;
}

const ref = (call: string, path: string): Reference => ({ kind: 'reference', call, path });
const text = (strings: TemplateStringsArray, ...values: readonly (Reference | string)[]): Template => ({
  kind: 'template',
  parts: strings.flatMap((part, index) => {
    const value = values[index];
    return value === undefined ? [part] : [part, value];
  }),
});
const think = (of: readonly string[], say: (read: Read) => string): Thought => ({ kind: 'thought', of, say });

const fix: Task = {
  id: 'fix',
  title: 'A failing test: read, fix, test',
  question:
    'The tests of the package "price" fail. Fix the code and tell me the id of the test run that passed.',
  calls: [
    { id: 'code', tool: 'read_file', arguments: { path: 'src/price.ts' } },
    { id: 'spec', tool: 'read_file', arguments: { path: 'test/price.test.ts' } },
    { id: 'before', tool: 'run_tests', arguments: { package: 'price' } },
    {
      id: 'edit',
      tool: 'replace_in_file',
      arguments: {
        path: 'src/price.ts',
        old: think(
          ['code', 'spec', 'before'],
          (read) => /return .*;/.exec(String(read('code', 'text')))?.[0] ?? '',
        ),
        new: think(['code'], () => 'return quantity * unit * (1 - discount);'),
      },
    },
    { id: 'tests', tool: 'run_tests', arguments: { package: 'price' }, after: ['edit'] },
  ],
  answer: think(['tests'], (read) =>
    read('tests', 'passed') === true
      ? `The discount was never applied. It is now, and the tests pass: ${read('tests', 'run')}.`
      : 'The tests still fail.',
  ),
};

const rename: Task = {
  id: 'rename',
  title: 'A rename over five files',
  question:
    'Rename the import fetchUser to loadUser everywhere it is used, test the package "users", and tell me the id of the run.',
  calls: [
    { id: 'uses', tool: 'search_code', arguments: { text: 'fetchUser' } },
    ...USERS_OF_FETCH.map(
      (path, index): Call => ({
        id: `edit_${index + 1}`,
        tool: 'replace_in_file',
        arguments: {
          path: think(['uses'], (read) => String(read('uses', `matches.${index}.path`) ?? path)),
          old: 'import { fetchUser } from',
          new: 'import { loadUser } from',
        },
      }),
    ),
    {
      id: 'tests',
      tool: 'run_tests',
      arguments: { package: 'users' },
      after: USERS_OF_FETCH.map((_, index) => `edit_${index + 1}`),
    },
  ],
  answer: think(['tests'], (read) =>
    read('tests', 'passed') === true
      ? `Renamed in five files; the tests pass: ${read('tests', 'run')}.`
      : `The tests fail: ${String(read('tests', 'failures'))}`,
  ),
};

const release: Task = {
  id: 'release',
  title: 'A release: test, build, checksum, upload, announce',
  question:
    'Release the package "price": test everything, build it, upload it with its checksum, announce it in #releases, and give me version and address.',
  calls: [
    { id: 'tests', tool: 'run_tests', arguments: { package: 'all' } },
    {
      id: 'build',
      tool: 'build',
      arguments: {
        package: think(['tests'], (read) => (read('tests', 'passed') === true ? 'price' : 'none')),
      },
    },
    { id: 'sum', tool: 'checksum', arguments: { artifact: ref('build', 'artifact') } },
    {
      id: 'up',
      tool: 'upload',
      arguments: { artifact: ref('build', 'artifact'), sha256: ref('sum', 'sha256') },
    },
    {
      id: 'news',
      tool: 'send_message',
      arguments: {
        to: '#releases',
        text: text`price ${ref('build', 'version')} is out: ${ref('up', 'url')}`,
      },
    },
  ],
  answer: text`Released price ${ref('build', 'version')} at ${ref('up', 'url')}, announced as ${ref('news', 'id')}.`,
};

const SUBJECTS = ['tidal power in Wales', 'heat pumps in Norway', 'grid batteries in Texas'] as const;

const research: Task = {
  id: 'research',
  title: 'Research: three searches, then their best pages',
  question: `Find the current figure for each of these: ${SUBJECTS.join(', ')}. Read the best page for each.`,
  calls: SUBJECTS.flatMap((subject, index): readonly Call[] => [
    { id: `search_${index + 1}`, tool: 'web_search', arguments: { query: subject } },
    {
      id: `page_${index + 1}`,
      tool: 'fetch_page',
      arguments: { url: ref(`search_${index + 1}`, 'results.0.url') },
    },
  ]),
  answer: think(['page_1', 'page_2', 'page_3'], (read) =>
    SUBJECTS.map((subject, index) => `${subject}: ${figureIn(read(`page_${index + 1}`, 'text'))}`).join('; '),
  ),
};

const figureIn = (page: unknown): string => /The figure is (\w+)\./.exec(String(page))?.[1] ?? 'unknown';

const migration: Task = {
  id: 'migration',
  title: 'A long session: eight files, one after another, each tested',
  question: `Migrate these files one after another: ${CONFIGS.join(', ')}. In each, replace the line "timeout: N" by "timeout_seconds: N" and run the tests of that file (its path is the name of the package) before you change the next one. Tell me the key of each file.`,
  calls: CONFIGS.flatMap((path, index): readonly Call[] => {
    const n = index + 1;
    const before = index === 0 ? [] : [`tests_${index}`];
    return [
      { id: `read_${n}`, tool: 'read_file', arguments: { path } },
      {
        id: `edit_${n}`,
        tool: 'replace_in_file',
        arguments: {
          path,
          old: think(
            [`read_${n}`, ...before],
            (read) => /timeout: \d+/.exec(String(read(`read_${n}`, 'text')))?.[0] ?? '',
          ),
          new: think([`read_${n}`], (read) =>
            (/timeout: \d+/.exec(String(read(`read_${n}`, 'text')))?.[0] ?? '').replace(
              'timeout',
              'timeout_seconds',
            ),
          ),
        },
      },
      { id: `tests_${n}`, tool: 'run_tests', arguments: { package: path }, after: [`edit_${n}`] },
    ];
  }),
  answer: think(
    [...CONFIGS.map((_, index) => `read_${index + 1}`), `tests_${CONFIGS.length}`],
    (read) =>
      `All eight are migrated and tested. Keys: ${CONFIGS.map((_, index) => /key: (\w+)/.exec(String(read(`read_${index + 1}`, 'text')))?.[1]).join(', ')}.`,
  ),
};

const refund: Task = {
  id: 'refund',
  title: 'A customer: find, look up, decide, refund, tell',
  question:
    'ada@example.com says her newest order never came. If its shipment is lost, refund the order and tell her the id of the refund. Then tell me that id and the depot.',
  calls: [
    { id: 'customer', tool: 'find_customer', arguments: { email: 'ada@example.com' } },
    { id: 'orders', tool: 'list_orders', arguments: { customer: ref('customer', 'id') } },
    { id: 'shipment', tool: 'get_shipment', arguments: { shipment: ref('orders', 'orders.0.shipment') } },
    {
      id: 'money',
      tool: 'refund',
      arguments: {
        order: think(['orders', 'shipment'], (read) => String(read('orders', 'orders.0.id'))),
        reason: think(['shipment'], (read) => `The shipment is ${String(read('shipment', 'state'))}.`),
      },
    },
    {
      id: 'mail',
      tool: 'send_message',
      arguments: {
        to: 'ada@example.com',
        text: text`We are sorry. Your refund is on its way: ${ref('money', 'id')}.`,
      },
    },
  ],
  answer: think(
    ['shipment', 'money', 'mail'],
    (read) =>
      `Ada was told. The shipment was lost at depot ${String(read('shipment', 'depot'))}; the refund is ${String(read('money', 'id'))}.`,
  ),
};

const TOPICS = ['cobalt mining', 'lithium recycling', 'nickel prices'] as const;
const researchQuestion = (topic: string) => `What is the current figure for ${topic}?`;

const team: Task = {
  id: 'team',
  title: 'Three sub-agents side by side, and a report',
  question: `Have the researcher find the current figure for ${TOPICS.join(', ')}, one research each, write what they say into report.md, and tell me the figures.`,
  calls: [
    ...TOPICS.map(
      (topic, index): Call => ({
        id: `ask_${index + 1}`,
        tool: 'researcher',
        arguments: { input: researchQuestion(topic) },
      }),
    ),
    {
      id: 'report',
      tool: 'write_file',
      arguments: {
        path: 'report.md',
        text: text`# Metals\n\n${ref('ask_1', '')}\n${ref('ask_2', '')}\n${ref('ask_3', '')}\n`,
      },
    },
  ],
  answer: think(
    ['ask_1', 'ask_2', 'ask_3', 'report'],
    (read) =>
      `The report is written. ${TOPICS.map((_, index) => String(read(`ask_${index + 1}`))).join(' ')}`,
  ),
};

const researcherTasks: readonly Task[] = TOPICS.map((topic) => ({
  id: `team: ${topic}`,
  title: 'A sub-agent of team',
  question: researchQuestion(topic),
  partOf: 'team',
  calls: [
    { id: 'search', tool: 'web_search', arguments: { query: topic } },
    { id: 'page', tool: 'fetch_page', arguments: { url: ref('search', 'results.0.url') } },
  ],
  answer: think(['page'], (read) => `The figure for ${topic} is ${figureIn(read('page', 'text'))}.`),
}));

const CITIES = ['Oslo', 'Lima', 'Accra', 'Hanoi', 'Quito', 'Perth'] as const;

const weather: Task = {
  id: 'weather',
  title: 'Six independent look-ups',
  question: `How warm is it in ${CITIES.join(', ')}? Name the station of each.`,
  isChainFree: true,
  calls: CITIES.map((city) => ({ id: city.toLowerCase(), tool: 'get_weather', arguments: { city } })),
  answer: think(
    CITIES.map((city) => city.toLowerCase()),
    (read) =>
      CITIES.map(
        (city) =>
          `${city} ${String(read(city.toLowerCase(), 'celsius'))} °C (${String(read(city.toLowerCase(), 'station'))})`,
      ).join(', '),
  ),
};

const explain: Task = {
  id: 'explain',
  title: 'A document: read it and explain it',
  question: 'Read docs/architecture.md and tell me who owns each part.',
  isChainFree: true,
  calls: [{ id: 'doc', tool: 'read_file', arguments: { path: 'docs/architecture.md' } }],
  answer: think(
    ['doc'],
    (read) =>
      `The system has six parts, which talk by messages only and keep their state in the database. Owners: ${[...String(read('doc', 'text')).matchAll(/The part "(\w+)" has the owner (\w+)\./g)].map(([, part, owner]) => `${part} is owned by ${owner}`).join(', ')}.`,
  ),
};

const HOPS = ['web', 'checkout', 'payments', 'ledger', 'storage'] as const;

const incident: Task = {
  id: 'incident',
  title: 'An incident: five queries, each decided by the last',
  question:
    'Checkout fails for our users. Start with the errors of the service "web" and follow them to the service where they begin. Which request failed there, and why?',
  isChainFree: true,
  calls: HOPS.map((service, index) => ({
    id: service,
    tool: 'query_logs',
    arguments: {
      service:
        index === 0
          ? service
          : think(
              [HOPS[index - 1] ?? ''],
              (read) => /upstream (\w+)/.exec(String(read(HOPS[index - 1] ?? '', 'lines.0')))?.[1] ?? '',
            ),
      filter: 'error',
    },
  })),
  answer: think(['storage'], (read) => {
    const [, request, why] = /request (\w+) failed: (.*)/.exec(String(read('storage', 'lines.0'))) ?? [];
    return `It begins in "storage": request ${request} failed because of: ${why}.`;
  }),
};

/** The ten. */
export const TASKS: readonly Task[] = [
  fix,
  rename,
  release,
  research,
  migration,
  refund,
  team,
  weather,
  explain,
  incident,
];

/** All that a model can be asked for, those of the sub-agents included. */
export const ASKED: readonly Task[] = [...TASKS, ...researcherTasks];
