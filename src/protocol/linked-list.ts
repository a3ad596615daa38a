/** A member of a list knows its neighbours; the list sets them. */
export interface Linked<Member> {
  prev: Member | undefined;
  next: Member | undefined;
}

/**
 * What is in progress. A Set would do the same, but one whose members come and go with every call
 * costs the garbage collector more than the call itself.
 */
export class LinkedList<Member extends Linked<Member>> {
  #first: Member | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get first(): Member | undefined {
    return this.#first;
  }

  add(member: Member): void {
    const first = this.#first;
    member.next = first;
    if (first !== undefined) first.prev = member;
    this.#first = member;
    this.#size++;
  }

  /** False when it was no member. */
  remove(member: Member): boolean {
    if (member.prev !== undefined) member.prev.next = member.next;
    else if (this.#first === member) this.#first = member.next;
    else return false;
    if (member.next !== undefined) member.next.prev = member.prev;
    member.prev = undefined;
    member.next = undefined;
    this.#size--;
    return true;
  }

  /** A copy, so that members may leave while it is walked. */
  list(): Member[] {
    const all: Member[] = [];
    for (let member = this.#first; member !== undefined; member = member.next) all.push(member);
    return all;
  }
}
