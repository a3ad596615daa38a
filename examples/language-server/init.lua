-- nvim -u examples/language-server/init.lua shopping.tally
local here = vim.fn.fnamemodify(debug.getinfo(1).source:sub(2), ":p:h")

vim.api.nvim_create_autocmd({ "BufRead", "BufNewFile" }, {
  pattern = "*.tally",
  callback = function()
    vim.bo.filetype = "tally"
    vim.bo.omnifunc = "v:lua.vim.lsp.omnifunc"
    tally = tally
      or vim.lsp.start_client({
        name = "tally",
        cmd = {
          "node",
          "--import",
          here .. "/../typescript.mjs",
          here .. "/language-server.ts",
          "--stdio",
        },
        root_dir = vim.fn.getcwd(),
      })
    vim.lsp.buf_attach_client(0, tally)
  end,
})
