import type { QuarantineNote } from '../../events/session-summary.ts';
import type { Clock } from '../../kernel/clock.ts';
import { codeIn, type LaidAside } from '../../session/fleet/fleet.ts';
import type { Runtime } from '../../session/runtime-types.ts';
import { hasEnded, QUARANTINED, readQuarantine } from '../../store/quarantine.ts';
import type { StreamInfo } from '../../store/store.ts';

/** For so long one look at the fleet serves all who ask. */
const FRESH_MS = 1_000;

/** Which sessions and runs are quarantined, and why: by the store, or because no worker of the fleet can go on with them. */
export class Quarantines {
  readonly #runtime: Pick<Runtime, 'store' | 'fleet'>;
  readonly #clock: Pick<Clock, 'monotonic'>;
  #looked: { readonly at: number; readonly aside: Promise<ReadonlyMap<string, LaidAside>> } | undefined;

  constructor(runtime: Pick<Runtime, 'store' | 'fleet'>, clock: Pick<Clock, 'monotonic'>) {
    this.#runtime = runtime;
    this.#clock = clock;
  }

  /** Why a stream is quarantined; undefined where it is not. */
  async of(info: StreamInfo): Promise<QuarantineNote | undefined> {
    if (info.status === QUARANTINED) {
      const noted = await readQuarantine(this.#runtime.store, info.stream);
      return { why: noted?.why ?? UNKNOWN, at: noted?.at ?? info.updatedAt, release: 'resume' };
    }
    if (this.#runtime.fleet === undefined || info.owner !== undefined || hasEnded(info)) return undefined;
    const aside = (await this.#aside()).get(info.stream);
    if (aside === undefined) return undefined;
    const code = codeIn(aside.why);
    return { why: aside.why, at: aside.at, release: 'retry', ...(code === undefined ? {} : { code }) };
  }

  /** The streams that the workers of the fleet could not go on with. Their status in the store is another. */
  async inFleet(): Promise<readonly StreamInfo[]> {
    if (this.#runtime.fleet === undefined) return [];
    const aside = [...(await this.#aside()).keys()];
    const infos = await Promise.all(aside.map((stream) => this.#runtime.store.info(stream)));
    return infos.filter(
      (info): info is StreamInfo => info !== undefined && info.owner === undefined && !hasEnded(info),
    );
  }

  #aside(): Promise<ReadonlyMap<string, LaidAside>> {
    const now = this.#clock.monotonic();
    if (this.#looked === undefined || now - this.#looked.at >= FRESH_MS) {
      const aside = this.#look();
      const looked = { at: now, aside };
      this.#looked = looked;
      aside.catch(() => {
        if (this.#looked === looked) this.#looked = undefined; // whoever asks next looks again
      });
    }
    return this.#looked.aside;
  }

  async #look(): Promise<ReadonlyMap<string, LaidAside>> {
    const status = await this.#runtime.fleet?.status();
    return new Map(status?.laidAside.map((aside) => [aside.stream, aside]));
  }
}

const UNKNOWN = 'The store does not say why.';
