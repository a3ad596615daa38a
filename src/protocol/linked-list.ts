/** A list member with its neighbours, which the list sets. */
export interface Linked<Member> {
  prev: Member | undefined;
  next: Member | undefined;
}

/**
 * A list of what is in progress. A Set whose members change with every call would cost the garbage collector more
 * than the call itself.
 */
export class LinkedList<Member extends Linked<Member>> {
  /** How many members it has; changed by the list only, as is `first`. */
  size = 0;
  first: Member | undefined = undefined;
  #last: Member | undefined = undefined;

  add(member: Member): void {
    const last = this.#last;
    member.prev = last;
    if (last !== undefined) last.next = member;
    else this.first = member;
    this.#last = member;
    this.size++;
  }

  /** False if it was not a member. */
  remove(member: Member): boolean {
    const { prev, next } = member;
    if (prev !== undefined) prev.next = next;
    else if (this.first === member) this.first = next;
    else return false;
    if (next !== undefined) next.prev = prev;
    else this.#last = prev;
    member.prev = member.next = undefined;
    this.size--;
    return true;
  }

  /** A copy, so that members may leave during iteration. */
  list(): Member[] {
    const all: Member[] = [];
    for (let member = this.first; member !== undefined; member = member.next) all.push(member);
    return all;
  }
}
