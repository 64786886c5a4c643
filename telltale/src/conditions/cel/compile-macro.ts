import type { ASTNode } from '@marcbachmann/cel-js';
import { itemAt, itemsOf, keysOf } from './access.ts';
import { asBool, attempt, type Frame, type Run } from './frame.ts';
import { MAX_MACRO_NESTING } from './limits.ts';
import type { Macro } from './macro.ts';
import { Refusal } from './refusal.ts';
import type { Scope } from './scope.ts';
import { Stop } from './stop.ts';
import { label, MadeList, type Value } from './value.ts';

export function compileMacro(macro: Macro, node: ASTNode, scope: Scope): Run {
  const over = scope.compile(macro.over, scope);
  const iterates = macro.name !== 'bind';
  if (iterates && scope.nesting === MAX_MACRO_NESTING) throw tooNested(node);
  const slot = scope.taken;
  const inside: Scope = {
    ...scope,
    slots: new Map(scope.slots).set(macro.variable, slot),
    taken: slot + 1,
    nesting: scope.nesting + (iterates ? 1 : 0),
  };
  const bodies = macro.bodies.map((body) => scope.compile(body, inside));
  const [first, second] = bodies as [Run, Run | undefined];
  const bodyAt = macro.bodies[0]?.start ?? node.start;
  const holds = (frame: Frame) => asBool(first(frame), frame, bodyAt, `${macro.name}()`);
  switch (macro.name) {
    case 'bind':
      return (frame) => {
        frame.locals[slot] = over(frame);
        return first(frame);
      };
    case 'all':
      return (frame) => decide(frame, elements(over, node, frame), slot, false, holds);
    case 'exists':
      return (frame) => decide(frame, elements(over, node, frame), slot, true, holds);
    case 'exists_one':
      return (frame) => {
        let found = 0;
        each(frame, elements(over, node, frame), slot, () => {
          if (holds(frame)) found++;
        });
        return found === 1;
      };
    case 'filter':
      return (frame) => {
        const kept: Value[] = [];
        each(frame, elements(over, node, frame), slot, (item) => {
          if (holds(frame)) kept.push(item);
        });
        return new MadeList(kept);
      };
    case 'map':
      return (frame) => {
        const made: Value[] = [];
        each(frame, elements(over, node, frame), slot, () => {
          if (second === undefined) made.push(first(frame));
          else if (holds(frame)) made.push(second(frame));
        });
        return new MadeList(made);
      };
  }
}

/** What a macro runs over: the elements of a list, the keys of a map. */
interface Elements {
  readonly of: Value;
  readonly items: readonly unknown[];
}

function elements(over: Run, node: ASTNode, frame: Frame): Elements {
  const of = over(frame);
  const items = itemsOf(of);
  if (items !== undefined) return { of, items };
  const keys = keysOf(of);
  if (keys !== undefined) return { of: new MadeList(keys), items: keys };
  frame.at = node.start;
  throw new Stop(
    'wrong_type',
    `A macro was asked to run over ${label(of)}.`,
    'It takes a list, or a map for its keys.',
  );
}

function each(frame: Frame, { of, items }: Elements, slot: number, visit: (item: Value) => void): void {
  for (let i = 0; i < items.length; i++) {
    frame.budget.spend(1);
    const item = itemAt(of, items, i);
    frame.locals[slot] = item;
    visit(item);
  }
}

/** `exists` (decisive: true) and `all` (decisive: false): one element that decides is enough, even where others fail. */
function decide(
  frame: Frame,
  { of, items }: Elements,
  slot: number,
  decisive: boolean,
  holds: (frame: Frame) => boolean,
): boolean {
  let failed: Stop | undefined;
  for (let i = 0; i < items.length; i++) {
    frame.budget.spend(1);
    frame.locals[slot] = itemAt(of, items, i);
    const outcome = attempt(() => holds(frame), frame);
    if (outcome === decisive) return decisive;
    if (outcome instanceof Stop) failed ??= outcome;
  }
  if (failed !== undefined) throw failed;
  return !decisive;
}

const tooNested = (node: ASTNode) =>
  new Refusal(
    'too_complex',
    `Macros are nested more than ${MAX_MACRO_NESTING} deep.`,
    node.start,
    'Compute a part beforehand, in a variable or a step.',
  );
