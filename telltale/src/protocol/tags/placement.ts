import type { Place } from '../intents.ts';
import { type Elements, findElement, frameAt } from './elements.ts';
import {
  controlInForeach,
  type Fault,
  notHere,
  notInResponse,
  reservedTag,
  responseNotHere,
  strayElse,
} from './faults.ts';
import { isControl, type TagName } from './tag-names.ts';

/** Why a tag is text where it stands, and whether the turn is in doubt from there on. */
export interface Misplaced {
  readonly fault: Fault;
  readonly doubt: boolean;
}

const isText = (fault: Fault, doubt = false): Misplaced => ({ fault, doubt });

/**
 * Why an opening tag of this name is text here whatever its attributes are (rules 1, 2.4 and 2.5), or undefined if it
 * may count. `lineIsBlank`: nothing but white space since the last line break or tag.
 */
export function placement(
  elements: Elements,
  actionsIn: readonly Place[],
  name: TagName,
  lineIsBlank: boolean,
): Misplaced | undefined {
  const { place, innermost } = elements;
  const acts = name === 'action' || name === 'metadata' || isControl(name);
  if (place === 'response' && !(acts && actionsIn.includes('response'))) return isText(notInResponse(name));
  if (name === 'result' || name === 'context_feed') return isText(reservedTag(name));
  if (name === 'response') {
    const stands = innermost === undefined || innermost === 'if' || lineIsBlank;
    return stands ? undefined : isText(responseNotHere());
  }
  if (!acts) return undefined;
  if (!actionsIn.includes(place)) return isText(notHere(name, place, actionsIn));
  if (name === 'else') {
    const frame = frameAt(elements, findElement(elements, 'if'));
    return frame?.name === 'if' && !frame.inElse ? undefined : isText(strayElse(), true);
  }
  return isControl(name) && elements.last.foreach >= 0 ? isText(controlInForeach(name), true) : undefined;
}
