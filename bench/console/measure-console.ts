import type { Browser, Page } from 'playwright-core';
import { type LoadFigures, loadFigures } from '../../telltale/test/browser/load-figures.ts';
import { openStage } from '../../telltale/test/browser/open-stage.ts';
import { generateLog } from '../../telltale/test/console/generate-log.ts';

/** What is measured: a session of so many events, opened and scrubbed through so often. */
export interface ConsoleLoad {
  readonly events: number;
  readonly rounds: number;
  readonly steps: number;
}

export interface ConsoleFigures {
  readonly events: number;
  /** From the address until all events are there and drawn, a figure a round. */
  readonly openMs: readonly number[];
  /** What page and server took of the processors for it, a figure a round. */
  readonly openCpuMs: readonly number[];
  /** From the slider's move to the picture behind it, a figure a step, the steps of each round. */
  readonly stepMs: readonly (readonly number[])[];
  /** What the page took for a step, on average, a figure a round. */
  readonly stepCpuMs: readonly number[];
  /** First visits of the first page. */
  readonly loads: readonly LoadFigures[];
}

/** What a turn of the generated log has, about. */
const EVENTS_A_TURN = 71;
const ACTIONS = 20;

export async function measureConsole(browser: Browser, load: ConsoleLoad): Promise<ConsoleFigures> {
  const stage = await openStage({ files: {} });
  try {
    const log = generateLog({ turns: Math.ceil(load.events / EVENTS_A_TURN), actions: ACTIONS });
    await stage.write(log);
    const session = log[0]?.session ?? '';
    const openMs: number[] = [];
    const openCpuMs: number[] = [];
    const stepMs: (readonly number[])[] = [];
    const stepCpuMs: number[] = [];
    const loads: LoadFigures[] = [];
    for (let round = 0; round < load.rounds; round++) {
      await inNewPage(browser, async (page) => {
        loads.push(
          await loadFigures(page, stage.at('/sessions'), () =>
            page.getByRole('list', { name: 'Sessions' }).waitFor(),
          ),
        );
      });
      await inNewPage(browser, async (page) => {
        await page.goto(stage.at('/sessions'));
        await page.getByRole('list', { name: 'Sessions' }).waitFor();
        const server = process.cpuUsage();
        const before = await pageCpuMs(browser);
        openMs.push(await page.evaluate<number>(open(session, log.length)));
        const opened = await pageCpuMs(browser);
        const { user, system } = process.cpuUsage(server);
        openCpuMs.push(opened - before + (user + system) / 1_000);
        stepMs.push(await page.evaluate<number[]>(scrub(load.steps)));
        stepCpuMs.push(((await pageCpuMs(browser)) - opened) / load.steps);
      });
    }
    return { events: log.length, openMs, openCpuMs, stepMs, stepCpuMs, loads };
  } finally {
    await stage.close();
  }
}

async function inNewPage(browser: Browser, work: (page: Page) => Promise<void>): Promise<void> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  try {
    await work(await context.newPage());
  } finally {
    await context.close();
  }
}

/** What all pages together have taken of the processors so far. */
async function pageCpuMs(browser: Browser): Promise<number> {
  const devtools = await browser.newBrowserCDPSession();
  const { processInfo } = await devtools.send('SystemInfo.getProcessInfo');
  await devtools.detach();
  return processInfo
    .filter(({ type }) => type === 'renderer')
    .reduce((sum, { cpuTime }) => sum + cpuTime * 1_000, 0);
}

/** As somebody does who follows a link in the console: its first page is there, the session's own is not. */
const open = (session: string, events: number): string => `new Promise((shown) => {
  const began = performance.now();
  location.hash = ${JSON.stringify(`/sessions/${session}`)};
  const look = () => {
    const slider = document.querySelector('input[type="range"]');
    if (slider?.max === ${JSON.stringify(String(events))} && slider.value === slider.max)
      requestAnimationFrame(() => setTimeout(() => shown(performance.now() - began)));
    else requestAnimationFrame(look);
  };
  look();
})`;

/** Moves the slider as a hand does: strides over all of the log, then single events. Each waits until it is drawn. */
const scrub = (steps: number): string => `(async () => {
  const slider = document.querySelector('input[type="range"]');
  const set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set;
  const drawn = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const last = Number(slider.max);
  const took = [];
  for (let step = 0; step < ${steps}; step++) {
    const stride = step % 2 === 0 ? step / ${steps} : 1 - step / ${steps};
    const to = step < ${steps} / 2 ? 1 + Math.floor(stride * (last - 2)) : Math.floor(last / 2) + step;
    await drawn();
    const began = performance.now();
    set.call(slider, String(to));
    slider.dispatchEvent(new Event('input', { bubbles: true }));
    await drawn();
    took.push(performance.now() - began);
  }
  return took;
})()`;
