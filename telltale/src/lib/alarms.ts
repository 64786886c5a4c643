/** Longer delays overflow Node's and browsers' timers and would fire at once. */
const MAX_TIMER_MS = 2_147_483_647;

/** One of those of a delay, in the order in which they are due. */
interface AlarmsAlarm {
  readonly due: number;
  readonly fire: () => void;
  readonly line: Line;
  /** How many of its delay there have been with it. */
  readonly number: number;
  before: AlarmsAlarm | undefined;
  after: AlarmsAlarm | undefined;
  isSet: boolean;
  /** Whether it stands in its line: it no longer does when it is about to fire. */
  isInLine: boolean;
}

/** All alarms of one delay share a timer: it is set for the first, and looks when it fires who is due. */
interface Line {
  readonly delayMs: number;
  readonly lines: Map<number, Line>;
  readonly monotonic: () => number;
  first: AlarmsAlarm | undefined;
  last: AlarmsAlarm | undefined;
  timer: AlarmsTimer | undefined;
  /** How many there have been. */
  count: number;
}

/** Of a delay that is asked for again and again, the timer is left when the last alarm is taken back: the next one needs it. */
const OFTEN = 8;

/** Node's timers; in a browser they are numbers, and nothing waits for them. */
type AlarmsTimer = ReturnType<typeof setTimeout> & { ref?(): unknown; unref?(): unknown };

/**
 * Calls back after a delay, as `Clock.after` promises. Every step of a session sets two alarms, nearly always of the same
 * two delays, and takes both back: a timer of the engine's for each took 250 ns, a place in a line takes 60.
 */
export function createAlarms(monotonic: () => number): (delayMs: number, fire: () => void) => () => void {
  const lines = new Map<number, Line>();
  return (delayMs, fire) => {
    const delay = delayMs > 0 ? delayMs : 0; // one that is no number is over
    let line = lines.get(delay);
    if (line === undefined) {
      line = {
        delayMs: delay,
        lines,
        monotonic,
        first: undefined,
        last: undefined,
        timer: undefined,
        count: 0,
      };
      lines.set(delay, line);
    }
    const alarm: AlarmsAlarm = {
      due: monotonic() + delay,
      fire,
      line,
      number: ++line.count,
      before: line.last,
      after: undefined,
      isSet: true,
      isInLine: true,
    };
    if (line.last !== undefined) line.last.after = alarm;
    else {
      line.first = alarm;
      if (line.timer === undefined) arm(line, delay);
      else line.timer.ref?.(); // it is left from one that was taken back, and fires no later than this one is due
    }
    line.last = alarm;
    return () => takeBack(alarm);
  };
}

function arm(line: Line, leftMs: number): void {
  line.timer = setTimeout(ring, Math.min(leftMs, MAX_TIMER_MS), line);
}

function takeBack(alarm: AlarmsAlarm): void {
  if (!alarm.isSet) return;
  alarm.isSet = false;
  if (!alarm.isInLine) return;
  leave(alarm);
  const { line } = alarm;
  if (line.first !== undefined) return;
  if (line.count >= OFTEN)
    line.timer?.unref?.(); // the process need not stay for it
  else {
    clearTimeout(line.timer);
    line.timer = undefined;
    forget(line);
  }
}

/** Whoever still holds it holds no other. */
function leave(alarm: AlarmsAlarm): void {
  const { line, before, after } = alarm;
  if (before === undefined) line.first = after;
  else before.after = after;
  if (after === undefined) line.last = before;
  else after.before = before;
  alarm.before = undefined;
  alarm.after = undefined;
  alarm.isInLine = false;
}

function forget(line: Line): void {
  if (line.lines.get(line.delayMs) === line) line.lines.delete(line.delayMs);
}

/**
 * Timers may also fire up to a millisecond early. Where several are due, each but the first has a turn of the loop of its
 * own: what one sets off, promises included, is done before the next, and may take it back. One that is set meanwhile has
 * its time.
 */
function ring(line: Line): void {
  const { monotonic, count } = line;
  line.timer = undefined;
  const now = monotonic();
  const isDue = (alarm: AlarmsAlarm | undefined): alarm is AlarmsAlarm =>
    alarm !== undefined && alarm.due <= now && alarm.number <= count;
  const { first } = line;
  if (isDue(first)) leave(first);
  for (let { first: next } = line; isDue(next); { first: next } = line) {
    leave(next);
    soon(fireOne, next);
  }
  if (line.first === undefined) forget(line);
  else arm(line, Math.max(0, line.first.due - monotonic()));
  if (isDue(first)) fireOne(first);
}

function fireOne(alarm: AlarmsAlarm): void {
  if (!alarm.isSet) return; // it was taken back by the one before it
  alarm.isSet = false;
  alarm.fire();
}

/** Browsers have only timers. */
function soon(then: (alarm: AlarmsAlarm) => void, alarm: AlarmsAlarm): void {
  if (typeof setImmediate === 'function') setImmediate(then, alarm);
  else setTimeout(then, 0, alarm);
}
