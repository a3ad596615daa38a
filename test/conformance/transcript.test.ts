import { describe, expect, test } from "vitest";
import { profileNames } from "./profiles.ts";
import { expectReply, parseTranscript, runTranscripts, transcripts } from "./transcript.ts";

const reply = (text: string, exact = false) => ({ text, exact });
const fails = (actual: string | undefined, expected: ReturnType<typeof reply> | undefined) =>
  expect(() => expectReply(actual, expected)).toThrow();

describe("a reply", () => {
  test("is the same JSON value, with its members in any order", () => {
    expectReply('{"id":1,"result":{"b":[1],"a":2}}', reply('{"result": {"a":2,"b":[1]}, "id": 1}'));
    fails('{"id":1,"result":2}', reply('{"id":1,"result":1}'));
    fails('{"id":1,"result":1,"more":1}', reply('{"id":1,"result":1}'));
    fails('{"id":1}', reply('{"id":1,"result":1}'));
    fails('{"id":"1","result":1}', reply('{"id":1,"result":1}'));
    fails('{"id":1,"result":null}', reply('{"id":1}'));
  });

  test("must arrive where one is expected, and only there", () => {
    expectReply(undefined, undefined);
    fails(undefined, reply('{"id":1,"result":1}'));
    fails('{"id":1,"result":1}', undefined);
    fails("", undefined);
  });

  test("must be the same string if the transcript says so", () => {
    expectReply('{"id":9007199254740993}', reply('{"id":9007199254740993}', true));
    fails('{"id":9007199254740992}', reply('{"id":9007199254740993}', true));
    fails('{"id": 1}', reply('{"id":1}', true));
  });

  test("holds the entries of a batch in any order, each as often as it must", () => {
    const a = '{"id":1,"result":"a"}';
    const b = '{"id":2,"error":{"code":1,"message":"b"}}';
    expectReply(`[${b},${a}]`, reply(`[${a},${b}]`));
    fails(`[${a},${a}]`, reply(`[${a},${b}]`));
    fails(`[${a}]`, reply(`[${a},${b}]`));
    fails(`[${a},${b},${b}]`, reply(`[${a},${b}]`));
    fails(a, reply(`[${a}]`));
    fails(`[${a}]`, reply(a));
  });

  test("may have an error with data that the transcript does not mention", () => {
    const bare = '{"id":1,"error":{"code":1,"message":"m"}}';
    const full = '{"id":1,"error":{"code":1,"message":"m","data":[1]}}';
    expectReply(full, reply(bare));
    expectReply(`[${full}]`, reply(`[${bare}]`));
    fails(bare, reply(full));
    fails('{"id":1,"error":{"code":1,"message":"m","data":[2]}}', reply(full));
    fails('{"id":1,"error":{"code":1,"message":"m","more":1}}', reply(bare));
    fails('{"id":1,"result":{"data":1}}', reply('{"id":1,"result":{}}'));
  });

  test("may have any value, but must have one, where the transcript has three dots", () => {
    expectReply('{"id":1,"result":[1]}', reply('{"id":1,"result":"..."}'));
    fails('{"id":1}', reply('{"id":1,"result":"..."}'));
  });
});

describe("a transcript", () => {
  const exchange = "profile: default\n\nA title\n--> 1\n<-- nothing\n";

  test("is read with its titles, profiles, continued lines and repetitions", () => {
    const source = [
      "# A comment",
      "profile: default",
      "",
      "The first exchange",
      "--> [repeat(3, `ab`),",
      "    2]",
      "<== x",
      "-->",
      "<-- nothing",
      "profile: limited",
      "The second exchange",
      "--> 3",
      "<-- [1,",
      "     2]",
    ];
    expect(parseTranscript("topic", source.join("\n"))).toEqual({
      topic: "topic",
      exchanges: [
        {
          title: "The first exchange",
          profile: "default",
          turns: [
            { sent: "[ababab, 2]", reply: reply("x", true) },
            { sent: "", reply: undefined },
          ],
        },
        {
          title: "The second exchange",
          profile: "limited",
          turns: [{ sent: "3", reply: reply("[1, 2]") }],
        },
      ],
    });
  });

  test.each([
    ["no exchange", "profile: default\n"],
    ["no profile", "A title\n--> 1\n<-- nothing\n"],
    ["an unknown profile", "profile: other\nA title\n--> 1\n<-- nothing\n"],
    ["an exchange without a title", "profile: default\n--> 1\n<-- nothing\n"],
    ["a title without an exchange", `${exchange}\nAnother title\n`],
    ["a title that stands twice", `${exchange}${exchange}`],
    ["an answer to nothing", `${exchange}<-- nothing\n`],
    ["a line that is not answered", `${exchange}--> 2\n`],
    ["a line that is not answered before the next", `${exchange}--> 2\n--> 3\n<-- nothing\n`],
    ["an answer that is not JSON", "profile: default\nA title\n--> 1\n<-- {\n"],
    ["an arrow that does not exist", `${exchange}==> 1\n`],
  ])("with %s is refused", (_, source) => {
    expect(() => parseTranscript("topic", source)).toThrow();
  });

  test("exists for every profile and every topic", () => {
    const used = new Set(transcripts.flatMap(({ exchanges }) => exchanges.map((e) => e.profile)));
    expect([...used].sort()).toEqual([...profileNames].sort());
    expect(transcripts.map(({ topic }) => topic)).toEqual([
      "batch",
      "errors",
      "files",
      "ids",
      "limits",
      "names",
      "params",
      "seeds",
      "specification-examples",
      "values",
      "versions",
    ]);
  });

  test("cannot be left out by a title that no longer exists", () => {
    expect(() => runTranscripts(() => undefined, "default", { except: ["No such title"] })).toThrow(
      "No such title",
    );
  });
});
